"""The nouns of the embedded grammar by sense, the adjectives that fit each sense, and names.

A sense is narrow: all its words go with the same verbs, adjectives and places, and few others do. Within a list, the
earlier a word stands, the more often it is chosen. Left out on purpose: nouns whose singular and plural look alike
(sheep, fish), so that every number label is certain; nouns that are also a frequent form of a verb.
"""

from __future__ import annotations

# fmt: off
PEOPLE = {
    "person": "woman/f man/m girl/f boy/m child guest tourist stranger",
    "kin": "brother/m sister/f friend cousin neighbor uncle/m aunt/f",
    "parent": "mother/f father/m grandmother/f grandfather/m stepmother/f godfather/m",
    "cook": "cook chef baker waiter/m waitress/f butcher",
    "medic": "doctor nurse surgeon dentist pharmacist",
    "farmer": "farmer gardener shepherd peasant rancher",
    "writer": "writer poet journalist author novelist translator",
    "clerk": "lawyer judge secretary manager mayor banker senator accountant",
    "craftsman": "carpenter builder mason locksmith",
    "mechanic": "mechanic engineer technician electrician plumber",
    "soldier": "soldier general knight/m warrior",
    "officer": "officer detective sheriff policeman/m",
    "crook": "thief robber burglar pirate bandit",
    "royal": "king/m queen/f prince/m princess/f duke/m",
    "musician": "musician singer pianist violinist drummer",
    "artist": "artist painter sculptor photographer",
    "driver": "driver chauffeur trucker cyclist",
    "pilot": "pilot aviator",
    "sailor": "sailor captain fisherman/m",
    "player": "player athlete runner goalkeeper wrestler swimmer",
    "scholar": "scientist professor teacher student scholar inventor",
    "tailor": "tailor seamstress/f weaver",
    "patient": "patient victim invalid casualty",
}
"""Persons: in the first three senses anyone; the other senses are trades, with the actions that go with them."""

THINGS = {
    "pet": "dog cat puppy kitten rabbit parrot hamster",
    "cattle": "cow goat pig hen lamb goose donkey turkey",
    "mount": "horse pony camel mule stallion",
    "beast": "wolf bear lion tiger fox crocodile leopard panther",
    "wildlife": "bird monkey elephant owl squirrel giraffe zebra turtle kangaroo swan otter hedgehog raccoon badger",
    "insect": "bee spider ant butterfly wasp beetle mosquito moth",
    "vegetable": "onion potato carrot tomato mushroom pepper cucumber pumpkin turnip cabbage eggplant",
    "fruit": "apple pear orange lemon cherry plum peach banana melon grape strawberry apricot",
    "pastry": "cake pie cookie biscuit muffin pancake waffle pretzel tart doughnut",
    "dish": "sandwich soup sausage steak omelet salad burger stew dumpling",
    "clothing": "shirt dress coat hat jacket sweater skirt cape blouse vest apron robe uniform costume cloak "
        "gown",
    "jewel": "ring necklace diamond bracelet coin jewel pearl crown ruby emerald",
    "art": "portrait landscape mural fresco canvas watercolor",
    "statue": "statue sculpture bust monument",
    "letter": "letter postcard message invitation telegram",
    "book": "book novel story poem article essay biography dictionary textbook newspaper magazine",
    "paper": "contract document petition certificate treaty license",
    "car": "car truck bus van taxi tractor motorcycle jeep ambulance",
    "boat": "boat ship ferry yacht canoe raft",
    "aircraft": "plane helicopter jet balloon glider",
    "tool": "axe knife chisel razor sword dagger scythe",
    "implement": "hammer drill wrench screwdriver crowbar",
    "equipment": "shovel ladder rope bucket broom rake spade pitchfork wheelbarrow",
    "vessel": "pot pan kettle cup mug saucepan teapot ladle",
    "container": "box chest crate basket barrel parcel",
    "furniture": "chair bed sofa wardrobe stool bookcase armchair bench cupboard",
    "part": "engine tire motor brake pump headlight bumper radiator",
    "structure": "roof wall fence gutter chimney balcony staircase",
    "opening": "door window gate shutter hatch",
    "device": "computer radio printer television camera phone heater lamp telescope microscope clock",
    "plant": "rose tulip bush lily fern hedge orchid vine shrub sunflower seedling",
    "tree": "oak tree pine willow maple birch",
    "instrument": "violin piano guitar flute trumpet cello harp clarinet accordion",
    "music": "song melody hymn lullaby ballad anthem",
    "problem": "problem puzzle riddle mystery equation",
    "plan": "plan proposal idea project strategy",
    "tale": "secret rumor lie joke legend",
    "error": "crime mistake sin blunder",
    "contest": "game race match tournament championship",
    "battle": "battle war duel",
    "party": "party wedding festival picnic banquet parade",
    "show": "concert opera ballet film musical",
    "lecture": "lecture lesson seminar course exam",
    "occasion": "meeting weekend holiday ceremony reunion",
    "illness": "fever infection disease wound rash injury",
    "debt": "debt rent bill fee tax",
    "pay": "salary wage pension reward fortune",
    "peak": "mountain hill cliff slope volcano",
    "crossing": "river bridge border stream railroad canal",
    "building": "church tower hotel temple mansion villa monastery",
    "room": "bathroom bedroom cellar attic hall corridor nursery pantry",
    "storm": "storm flood earthquake hurricane tornado avalanche",
    "body": "arm leg knee shoulder finger elbow wrist ankle",
    "stronghold": "fortress camp citadel garrison",
}
"""Things, animals and ideas."""

MASS = {
    "drink": "tea coffee milk wine juice beer lemonade cider cocoa",
    "money": "money cash gold",
    "fabric": "silk wool cotton linen velvet",
    "crop": "wheat corn rice barley rye",
}
"""Nouns without a plural."""

SPOTS = {
    "eatery": "in/kitchen in/restaurant in/bakery in/cafe in/canteen",
    "clinic": "in/hospital at/clinic in/infirmary in/ward",
    "barn": "in/barn in/meadow in/stable in/pasture",
    "garden": "in/garden in/greenhouse in/park in/backyard in/orchard",
    "field": "in/field on/farm on/plantation",
    "bureau": "in/office in/courtroom at/embassy at/ministry in/agency",
    "bank": "at/bank at/exchange in/treasury",
    "study": "in/library in/classroom in/laboratory at/university at/school",
    "shed": "in/garage in/workshop in/shed in/factory",
    "jail": "in/prison in/jail in/dungeon at/station",
    "court": "in/palace in/castle in/chapel",
    "stage": "in/theater in/auditorium in/ballroom in/conservatory",
    "gallery": "in/museum in/gallery in/studio",
    "road": "on/street on/road on/highway in/tunnel",
    "sea": "on/lake on/sea on/ocean on/lagoon",
    "shore": "on/beach on/island on/shore on/coast",
    "wood": "in/forest in/jungle in/valley in/grove in/swamp",
    "home": "in/house in/apartment in/cottage in/cabin in/bungalow",
    "shop": "in/shop at/market in/store in/mall",
    "airfield": "at/airport at/airfield on/runway at/heliport",
    "front": "on/battlefield in/trench in/bunker at/outpost",
    "arena": "in/stadium in/gym in/arena on/track",
    "port": "in/harbor in/port at/dock at/pier",
    "top": "on/table on/shelf on/counter on/stove on/sideboard",
    "cup": "in/bottle in/glass in/jug in/flask",
    "luggage": "in/suitcase in/bag in/trunk in/backpack in/handbag",
    "basket": "in/bowl on/plate on/tray on/platter",
    "town": "in/town in/village in/city in/square",
    "zoo": "in/zoo in/circus in/cage",
}
"""Places, each with its preposition: a scene has its own."""

MEN = (
    "Tom John Peter Paul David James Henry George Robert Martin Simon Oliver Daniel Victor Walter Albert Edward Frank "
    "Arthur Leo Hugo Felix Oscar Adam Eric Philip Ralph Samuel Theodore Vincent"
)
WOMEN = (
    "Mary Anna Sarah Emma Lucy Julia Alice Laura Helen Clara Nora Sophie Emily Rachel Diana Rosa Ellen Irene Martha "
    "Judith Grace Olivia Paula Vera Agnes Beatrice Edith Flora Harriet Matilda"
)
SURNAMES = (
    "Smith Brown Miller Wilson Taylor Carter Cooper Parker Turner Walker Bennett Collins Foster Griffin Hudson Jenkins "
    "Lambert Norris Palmer Quinn Russell Sanders Tucker Watson"
)
CITIES = (
    "London Paris Rome Berlin Boston Madrid Vienna Chicago Dublin Lisbon Cairo Athens Prague Toronto Sydney Moscow "
    "Warsaw Naples Geneva Oslo Helsinki Tokyo Delhi Lima Havana Venice Zurich Seville Bristol Denver"
)
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
MONTHS = "January February April June July August September October November December"
NUMBERS = "two three four five six seven ten eight twelve nine"

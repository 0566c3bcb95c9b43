"""The actions of the embedded grammar by scene: who does what to what and where.

A sentence has one scene, and all its clauses are about it. A verb stands in few rows, and its subjects, objects
and places are narrow, so that a word from another row is odd there. `anyone` means the senses person, kin and parent;
the scene `any` means all scenes. A star marks a verb that is stative and so has no progressive, a minus a verb for what
nobody does on purpose, which is neither commanded nor planned. Left out on purpose: verbs whose present and past look
alike (put, cut, read), so that every tense label is certain, and verbs that fit nearly every object (buy, find, see),
after which no noun would be odd. The verbs for an object stand in the order in which one does these things.
"""

from __future__ import annotations

# fmt: off
PLACES = """
kitchen | eatery
garden | garden
home | home
workshop | shed
office | bureau
finance | bank
gallery | gallery
theater | stage
study | study
farm | barn
war | court
crime | shop
clinic | clinic
traffic | road
harbor | port
flight | airfield
nature | wood
zoo | zoo
town | town
sport | arena
"""
"""scene | senses of the places where persons are"""

TRANSITIVE = """
kitchen | cook anyone | vegetable | wash peel slice chop fry | eatery
kitchen | cook anyone | pastry | bake frost serve | eatery
kitchen | cook anyone | dish | prepare season taste serve | eatery
kitchen | cook anyone | drink | pour sip drink | eatery
kitchen | cook anyone | vessel | scrub scour rinse dry | eatery
kitchen | cook | top | wipe scrub | eatery
garden | farmer anyone | fruit | pick pluck store | garden
garden | anyone | fruit | nibble eat | garden
garden | farmer anyone | plant | plant water fertilize prune trim | garden
garden | anyone | insect | chase swat squash | garden
garden | insect | person | bother frighten startle | garden
home | tailor anyone | clothing | sew stitch hem alter | home
home | anyone | clothing | iron fold mend | home
home | tailor | fabric | weave dye measure fold | home
home | anyone | luggage | pack unpack
home | anyone | container | lift carry unpack
home | anyone | opening | open close lock | home
home | anyone | room | sweep tidy furnish decorate | home
home | anyone | furniture | dust polish | home
home | anyone | pet | pat stroke cuddle
home | anyone | kin parent | hug visit thank comfort | home
workshop | mechanic driver | part | inspect remove repair clean | shed
workshop | mechanic | car | tow inspect refuel | shed
workshop | craftsman anyone | furniture | assemble paint varnish | shed
workshop | craftsman | building | design build paint renovate
workshop | craftsman | structure | measure repair plaster
workshop | craftsman anyone | tool | grind sharpen clean | shed
workshop | anyone mechanic | implement | borrow drop- lend | shed
finance | anyone clerk | money | save borrow count waste- | bank
finance | anyone clerk | debt | pay collect | bank
finance | anyone | pay | demand earn- spend | bank
office | anyone clerk | letter | mail deliver receive- answer | bureau
office | clerk | paper | draft forge sign notarize | bureau
office | clerk anyone | plan | discuss oppose support approve | bureau
office | clerk | clerk | hire promote sue dismiss | bureau
finance | debt | person | worry trouble
office | plan | person | worry surprise
gallery | artist | art | sketch paint frame exhibit | gallery
gallery | artist | statue | carve polish unveil | gallery
gallery | anyone | art statue | admire restore | gallery
theater | musician anyone | instrument | tune polish play | stage
theater | musician anyone | music | compose whistle hum sing record | stage
theater | anyone | show | attend watch enjoy applaud praise | stage
theater | show music | person | amuse bore impress
study | writer scholar | book | write edit translate publish review | study
study | scholar mechanic | device | install adjust test | study
study | scholar anyone | problem | ponder discuss analyze solve | study
study | scholar anyone | lecture | prepare attend interrupt | study
study | scholar | scholar | assist advise praise | study
study | lecture book | person | bore interest surprise
farm | farmer | crop | sow harvest thresh store | field
farm | farmer anyone | cattle | feed herd fatten | barn
farm | anyone farmer | mount | groom saddle ride | barn
farm | anyone farmer | equipment | fetch carry drop- | barn
farm | beast | cattle mount | attack chase bite frighten | field
war | soldier | battle | fight win | front
war | royal soldier | stronghold | besiege attack defend conquer
war | royal | soldier | summon honor reward banish | court
war | anyone | royal | cheer obey
war | battle | soldier royal | exhaust frighten
crime | anyone | jewel | admire lose- | shop
crime | crook | jewel | steal hide pawn smuggle | shop
crime | crook | error | deny regret admit confess | jail
crime | officer | crook | chase catch arrest | shop
crime | officer | crook | search guard interrogate | jail
crime | crook | person | shock frighten
clinic | medic | illness | examine diagnose treat | clinic
clinic | medic | patient | examine bandage vaccinate treat cure | clinic
clinic | medic | body | bandage massage examine | clinic
clinic | anyone | patient | comfort visit | clinic
clinic | illness | patient | weaken exhaust
traffic | driver anyone | car | steer drive overtake park | road
harbor | sailor anyone | boat | launch sail anchor | sea
flight | anyone | aircraft | photograph board | airfield
flight | pilot | aircraft | land inspect refuel | airfield
flight | anyone | luggage | carry drop- lose- | airfield
traffic | driver anyone | crossing | approach reach cross
traffic | car | crossing | approach cross
harbor | boat | port | enter approach
nature | anyone | peak | photograph climb conquer
nature | farmer anyone | tree | plant trim climb | wood
nature | farmer | beast | hunt trap shoot
zoo | anyone | wildlife | observe photograph feed | zoo
nature | storm | tree building | destroy damage wreck
nature | beast | wildlife | attack hunt chase | wood
zoo | wildlife | fruit | eat devour nibble | zoo
sport | player anyone | contest | organize enter win | arena
sport | player | body | stretch sprain- injure- | arena
town | anyone | party | organize attend enjoy | town
town | anyone | tale | whisper share repeat | town
town | anyone | person | greet follow insult ignore help | town
town | tale party | person | surprise amuse shock
sport | contest | person | excite tire
"""
"""scene | senses of the subject | senses of the object | verbs | senses of the place"""

INTRANSITIVE = """
any | person kin parent | laugh smile cry
home | person kin parent | sleep rest | home
kitchen | cook | work hurry sweat | eatery
clinic | medic | work hurry operate | clinic
farm | farmer | work rest sweat | field
garden | farmer | work rest | garden
nature | farmer | rest wait | wood
study | writer scholar | think work concentrate | study
study | mechanic | work | study
office | clerk | work argue hesitate | bureau
finance | clerk | work hesitate | bank
workshop | craftsman mechanic | work whistle sweat | shed
workshop | driver | wait | shed
home | tailor | work hum | home
war | soldier | march retreat surrender | front
war | royal | reign pray | court
crime | officer | patrol wait | shop
crime | crook | escape vanish hide | shop
theater | musician | perform rehearse practice | stage
gallery | artist | work daydream | gallery
traffic | driver | brake swerve hurry | road
flight | pilot | wait rest | airfield
harbor | sailor | swim wait | port
sport | player | train compete sweat | arena
clinic | patient | recover suffer faint tremble | clinic
home | pet | sleep play hide | home
garden | pet | sleep play hide | garden
farm | cattle | rest sleep | barn
farm | mount | gallop trot graze | field
farm | beast | hide | field
nature | beast | roar growl hunt | wood
zoo | wildlife | sleep climb play hide | zoo
nature | wildlife | climb play hide | wood
garden | insect | buzz crawl | garden
farm | crop | grow rot | field
garden | fruit | ripen rot | garden
kitchen | pastry dish | cool burn | eatery
home | clothing | shrink fade dry
crime | jewel | glitter sparkle vanish | shop
traffic | car | stop skid crash | road
harbor | boat | sink capsize drift | sea
flight | aircraft | crash land | airfield
study | device | hum beep fail | study
workshop | part | leak fail rattle | shed
garden | plant | bloom wither grow | garden
nature | tree | grow fall | wood
office | plan | fail succeed
town | party | begin end
sport | contest | begin end
theater | show | begin end
study | lecture | begin end
war | battle | begin end rage | front
clinic | illness | worsen heal
nature | storm | rage begin | shore
home | opening | creak rattle
workshop | building | collapse burn
kitchen | drink | cool
"""
"""scene | senses of the subject | verbs | senses of the place"""

PREPOSITIONAL = """
any | anyone | talk to | person kin
any | anyone | look at | person
theater | anyone musician | listen to | music musician
gallery | anyone | look at | art statue
flight | anyone | wait for | aircraft
traffic | anyone | wait for | car
harbor | anyone | wait for | boat
traffic | driver | shout at | driver
nature | anyone | point at | peak
zoo | anyone | point at | wildlife
nature | wildlife | flee from | beast storm
garden | anyone | look at | plant insect
kitchen | anyone | wait for | dish drink
kitchen | cook | shout at | cook
home | anyone | look for | clothing pet
home | pet | look at | person
farm | farmer anyone | care for | cattle mount
clinic | medic anyone | care for | patient
clinic | patient | suffer from | illness
clinic | anyone | apologize to | patient
study | scholar anyone | think about | problem
study | anyone | complain about | lecture
study | writer | write about | battle royal
war | soldier | fight for | royal
war | royal | rely on | soldier
office | clerk | argue about | paper
finance | clerk | argue about | debt
office | anyone | argue with | clerk
office | plan | depend* on | clerk pay
workshop | mechanic | work on | car part
workshop | craftsman | work on | furniture
crime | officer | search for | jewel crook
crime | crook | escape from | officer
sport | player | prepare for | contest
town | anyone | talk about | party
sport | anyone | talk about | contest
"""
"""scene | senses of the subject | verb and preposition | senses of the noun after it"""

PARTICLE = """
kitchen | throw away | pastry dish
garden | dig up | plant
garden | pick up | fruit
home | take off | clothing
home | wake up | parent kin
home | clean up | room
workshop | pick up | implement tool
office | hand over | paper
finance | hand over | money
office | send back | letter
finance | pay back | debt
office | tear up | letter paper
theater | write down | music
study | turn off | device
study | work out | problem
farm | pick up | equipment
war | give up | stronghold
crime | hand over | jewel
clinic | cheer up | patient
flight | pick up | luggage
nature | point out | peak
zoo | point out | wildlife
town | call off | party
sport | call off | contest
workshop | tear down | building
"""
"""scene | verb and particle | senses of the object; anyone can do it"""

GIFTS = """
kitchen | pastry dish drink | serve bring offer
garden | fruit | offer bring give
garden | plant | give show bring
home | clothing | lend give bring
workshop | implement tool | lend bring hand
office | letter paper | send show hand
finance | money | lend give promise
gallery | art statue | show sell give
study | book | lend recommend show
farm | equipment | bring hand lend
crime | jewel | show sell give
town | tale | tell
"""
"""scene | senses of the gift | verbs of giving; anyone can give"""

MOTION = "home away | walk run hurry"
"""adverbs of direction | verbs"""
# fmt: on

GOALS = "walk run hurry"
"""Verbs of motion toward a place: `ran to the garden`."""
POSTURE = "sit stand wait"
"""Verbs of being at a place."""

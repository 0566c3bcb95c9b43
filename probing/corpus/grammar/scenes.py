"""The actions of the embedded grammar: who does what to what, where and with what.

A verb stands in few rows, and its subjects, objects, tools and places are narrow, so that a word from another row is
odd there. `anyone` means the senses person, kin and parent. A star marks a verb that is stative and so has no
progressive. Left out on purpose: verbs whose present and past look alike (put, cut, read), so that every tense label is
certain, and verbs that fit nearly every object (buy, find, see), after which no noun would be odd.
"""

from __future__ import annotations

# fmt: off
TRANSITIVE = """
cook anyone | vegetable | peel chop fry slice roast grate | eatery | tool
cook anyone | pastry | bake frost burn | eatery
cook anyone | dish | cook serve season taste order | eatery
anyone pet wildlife | fruit | eat swallow chew nibble devour | garden
farmer anyone | fruit | pick pluck squeeze | garden
cook anyone | drink | drink sip pour brew spill | eatery
cook anyone | vessel | rinse scrub scour wash | eatery
anyone tailor | clothing | wear sew iron mend knit fold stitch hem | home
tailor | fabric | weave dye spin embroider | shed
crook anyone | jewel | steal hide pawn smuggle | shop
anyone crook | money | borrow save waste count lend | bureau
artist | art | paint sketch exhibit frame | gallery
artist | statue | carve sculpt unveil polish | gallery
anyone | art | admire restore | gallery
anyone clerk | letter | mail receive deliver answer | bureau
writer scholar | book | write publish edit translate review | study
clerk writer | paper | sign draft forge notarize | bureau
driver anyone | car | drive park steer rent overtake | road
mechanic driver | part | repair replace fix inspect | shed | implement
sailor anyone | boat | sail row anchor launch | sea
pilot anyone | aircraft | fly land board | airfield
craftsman farmer soldier | tool | sharpen grip swing grind | shed
anyone | container | pack unpack unlock seal | home
craftsman anyone | furniture | assemble varnish dust upholster | shed | implement
anyone | opening | open close lock slam | home
mechanic scholar | device | install test adjust assemble | study
anyone | plant | water prune plant trim fertilize | garden
farmer | crop | harvest sow store thresh | field
craftsman farmer | tree | chop trim uproot | wood | tool
musician anyone | instrument | play tune practice | stage
musician anyone | music | sing compose hum whistle record | stage
scholar anyone | problem | solve analyze ponder | study
clerk scholar anyone | plan | reject suggest approve propose oppose | bureau
anyone | tale | whisper share reveal invent | town
anyone clerk | error | confess regret forgive excuse | jail
player anyone | contest | win lose enter | arena
soldier royal | battle | fight win lose survive | front
anyone royal | party | attend organize postpone celebrate enjoy | town
anyone | show | enjoy attend applaud praise watch | stage
scholar anyone | lecture | attend skip interrupt prepare | study
medic | illness | treat diagnose cure prevent | clinic
medic | patient | examine treat cure bandage vaccinate | clinic
medic patient player | body | bandage massage stretch sprain injure | clinic
anyone clerk | debt | pay owe* collect | bureau
anyone | pay | earn spend demand invest | bureau
anyone player | peak | climb conquer | wood
soldier driver anyone | crossing | cross approach reach | town
craftsman royal anyone | building | build demolish design renovate | town
anyone | room | sweep furnish decorate tidy enter | home
officer | crook | arrest interrogate handcuff chase catch | jail
royal soldier | stronghold | attack defend conquer besiege | front
anyone | pet | stroke adopt walk cuddle | home
farmer anyone | cattle | feed herd slaughter fatten | barn
anyone soldier | mount | ride saddle groom | barn
soldier | beast | hunt trap shoot | wood
artist anyone | wildlife | photograph observe | zoo
anyone | insect | squash swat | garden
anyone | kin | hug visit marry thank comfort invite | home
anyone | person | greet follow insult ignore help | town
royal | soldier | summon reward banish honor | court
clerk | clerk | hire sue dismiss promote | bureau
scholar | scholar | teach tutor praise | study
insect | person | sting bite | garden
beast | cattle mount | devour attack hunt bite | field
pet | insect pet | chase bite sniff | garden
wildlife | insect fruit | swallow eat | wood
storm | building boat tree | destroy wreck damage | shore
illness | patient | kill weaken | clinic
plan tale show lecture | person | surprise bore amuse annoy shock
error debt | person | worry shame trouble
car | crossing | cross block | town
boat | port | enter approach | sea
"""
"""senses of the subject | senses of the object | verbs | senses of the place | sense of the tool"""

INTRANSITIVE = """
person kin parent | sleep laugh cry smile | home
cook | work hurry sweat | eatery
medic | work hurry operate | clinic
farmer | work rest sweat | field
writer scholar | think work concentrate | study
clerk | work argue hesitate | bureau
craftsman mechanic tailor | work whistle sweat | shed
soldier | march retreat surrender | front
officer | patrol wait investigate | road
crook | escape vanish hide | town
royal | reign feast pray | court
musician | perform rehearse practice | stage
artist | work daydream | gallery
driver | brake swerve hurry | road
pilot | land wait | airfield
sailor | drown swim row | sea
player | train compete sweat | arena
patient | recover suffer faint die | clinic
pet | sleep bark growl hide | home
cattle | graze rest | barn
mount | gallop trot graze | field
beast | roar growl hunt | wood
wildlife | sleep climb play hide | wood
insect | buzz crawl | garden
vegetable crop | rot | field
fruit | ripen rot | garden
pastry dish | cool burn | eatery
clothing | shrink fade dry | home
jewel | glitter sparkle vanish | shop
car | stop skid crash | road
boat | sink capsize drift | sea
aircraft | crash land descend | airfield
device | hum beep fail | study
part | leak break | shed
plant | bloom wither grow | garden
tree | grow fall | wood
plan | fail succeed | bureau
contest party show lecture | begin end | town
battle | begin end rage | front
illness | worsen heal | clinic
storm | rage begin | shore
opening | creak rattle | home
body | ache bleed tremble | clinic
building | collapse burn | town
drink | boil freeze | eatery
"""
"""senses of the subject | verbs | senses of the place"""

PREPOSITIONAL = """
person | listen to | music musician
person | wait for | car boat kin
person | talk about | plan contest party
person | talk to | kin person
person | laugh at | person
person | search for | jewel crook
person | dream of | pay mount
person | point at | wildlife insect peak
person | shout at | driver person
person | argue with | clerk kin
person | pay for | dish clothing
person | care for | patient parent
person | apologize to | parent kin
person | complain about | illness debt lecture
person | climb over | opening part
cook | shout at | cook
clerk | argue about | paper debt
writer | write about | battle royal
scholar | think about | problem
soldier | fight for | royal
officer | search for | crook
medic | care for | patient
musician | listen to | music
farmer | care for | cattle
royal | listen to | music musician
crook | escape from | officer
sailor | swim to | boat
player | prepare for | contest
pet | bark at | person pet
beast | flee from | storm
wildlife | flee from | beast storm
patient | suffer from | illness
plan | depend* on | clerk pay
contest party | depend* on | person
"""
"""sense of the subject | verb and preposition | senses of the noun after it"""

PARTICLE = """
person | pick up | implement letter
person | turn off | device
person | turn on | device
person | take off | clothing
person | throw away | pastry dish
person | give up | plan
person | write down | music tale
person | clean up | room
person | hand over | paper jewel
person | wake up | parent kin patient
person | tear down | building
person | send back | letter clothing
person | call off | party contest
person | work out | plan problem
person | pay back | debt
person | cheer up | patient kin
person | dig up | vegetable plant
"""
"""sense of the subject | verb and particle | senses of the object"""

GIFTS = """
letter | send show hand
paper | send show hand
book | lend recommend show
jewel | give offer show
pastry | offer bring serve
fruit | offer bring give
drink | serve bring offer
clothing | lend give bring
money | lend give owe* promise
pay | offer promise pay
tale | tell
"""
"""sense of the gift | verbs of giving"""

MOTION = """
home upstairs downstairs inside outside away | walk run hurry
home | return
"""
"""adverbs of direction | verbs"""
# fmt: on

GOALS = "walk run hurry"
"""Verbs of motion toward a place: `ran into the garden`."""
POSTURE = "sit stand wait"
"""Verbs of being at a place."""

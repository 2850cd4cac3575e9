"""Words and sentences of the substitute corpus (`lib/language/stories.py`), all of our own choosing.

In a template, [a|b] is one of its alternatives, and {slot} something drawn: one of a story's own words (the hero, for one), a
word of a class, or a phrase. Within a class the k-th word has weight 1/k (Zipf), so what stands first is common.
"""

from __future__ import annotations

GIRLS = """anna mia lucy ella rosie emma nora ruby clara ivy zoe maya lena alice ida greta hazel june daisy mary jane kate
amy eva iris nina penny tess wendy olive paula rita susan tina vera willa cora dora flora bella"""
BOYS = """tom leo jack finn oscar henry noah theo hugo felix adam paul peter simon luke mark george fred harry arthur billy
charlie danny eddie frank gus ian jonas karl louis milo ned otto ralph rudy seth toby victor walter zack"""
KIND = """rabbit dog cat bird mouse bear fox duck frog pony squirrel owl turtle hen pig lamb goat deer hedgehog mole kitten
puppy robin goose swan beaver badger otter seal whale dolphin penguin lion tiger monkey elephant giraffe zebra camel donkey
cow horse sheep rooster snail worm bee ant spider butterfly beetle cricket ladybug lizard crab fish shark octopus starfish
parrot crow wolf raccoon skunk hamster dragon giant fairy robot king queen princess knight wizard pirate farmer baker doctor
teacher"""
FAMILY = """mom dad grandma grandpa sister brother aunt uncle cousin neighbor mother father nurse captain"""
TRAIT = """little small kind brave happy clever young funny curious shy gentle friendly silly smart sweet polite quiet
careful lazy cheerful proud honest tiny lonely playful hungry sleepy wise good strong helpful patient noisy messy greedy
bold calm eager loyal tidy grumpy stubborn fearless merry nosy generous thoughtful jolly lively selfish clumsy fair humble
witty daring"""
LOOK = """big old new shiny pretty soft beautiful round heavy warm special strange long broken nice wet dirty clean colorful
tall bright dark wooden magic fine lovely hard golden empty fresh smooth huge wonderful secret dusty striped fluffy thin
flat sharp sticky rusty cozy lost giant perfect fancy loud cold hot cool thick plain crooked rough sturdy hollow silver
sparkling enormous tasty rare square spotted narrow wide muddy frozen fuzzy light simple slippery modern precious curly ugly
ancient mysterious"""
COLOR = """red blue green yellow white brown pink black orange purple gray gold violet turquoise"""
FEELING = """happy sad excited scared tired proud glad surprised angry worried sorry hungry bored lonely afraid pleased
curious upset thankful calm safe sleepy nervous thirsty confused cheerful grateful brave jealous ashamed cross hopeful
relieved amazed delighted shocked shy warm cold strong weak lucky foolish guilty restless puzzled content annoyed dizzy
peaceful"""
OBJECT = """ball box book toy hat kite flower stone boat doll stick key car drum bell cup shell balloon map basket shoe bag
ring lamp train truck ladder bucket feather rope button blanket chair bike letter bottle crown coin coat spoon jar picture
whistle umbrella pencil pillow wagon plate candle clock mirror scarf glove sock ribbon net flag leaf acorn seed pebble log
branch nest egg brush broom mop hammer nail saw shovel rake wheel sled swing tent lantern pot pan kettle fork knife bowl
tray vase chest trunk suitcase purse wallet necklace bracelet watch crystal diamond pearl treasure statue puppet puzzle
block marble card dice robot rocket plane helicopter ship canoe raft paddle anchor sail wand cape mask costume trumpet
violin guitar piano flute harp camera radio telescope magnet compass globe string thread needle cloth sweater shirt dress
apron belt boot slipper helmet shield sword bow arrow crayon marker notebook paper envelope stamp ticket poster painting ink
chalk sponge soap towel comb bubble snowman sandcastle scooter tricycle skateboard teapot napkin"""
PLACE = """park garden house forest river beach school kitchen farm room yard lake hill store barn pond tree market field
bridge castle cave mountain village meadow zoo shop street road library town island attic cellar playground tower well
harbor shore station museum church mill bakery orchard jungle desert valley stream waterfall swamp cliff path gate fence
corner hallway porch bathroom bedroom garage stable shed tent hut cottage palace temple circus fair office hospital airport
square fountain maze greenhouse lighthouse windmill pool gym theater classroom workshop cabin camp"""
FOOD = """cake apple cookie bread soup carrot honey cheese milk pie berry sandwich banana juice pear candy cherry pancake
corn tea water plum rice nut egg jam butter peach grape melon lemon potato tomato salad pizza pasta bean pea onion cabbage
pumpkin strawberry orange muffin cupcake chocolate porridge toast noodle mushroom popcorn yogurt cereal pudding waffle
pretzel biscuit cocoa salt sugar"""
MOVE = """play played playing|run ran running|jump jumped jumping|walk walked walking|dance danced dancing|sing sang
singing|swim swam swimming|climb climbed climbing|sleep slept sleeping|laugh laughed laughing|hide hid hiding|fly flew
flying|rest rested resting|draw drew drawing|read read reading|cook cooked cooking|cry cried crying|wait waited waiting|sit
sat sitting|dig dug digging|race raced racing|skip skipped skipping|spin spun spinning|slide slid sliding|splash splashed
splashing|paint painted painting|roll rolled rolling|hop hopped hopping|crawl crawled crawling|shout shouted
shouting|whisper whispered whispering|clap clapped clapping|march marched marching|ride rode riding|skate skated
skating|sail sailed sailing|fish fished fishing|bake baked baking|sew sewed sewing|knit knitted knitting|work worked
working|study studied studying|travel traveled traveling|wander wandered wandering|explore explored exploring|stumble
stumbled stumbling|float floated floating|bounce bounced bouncing|giggle giggled giggling|dream dreamed dreaming|write wrote
writing|count counted counting|practice practiced practicing|juggle juggled juggling|gallop galloped galloping|tiptoe
tiptoed tiptoeing|wiggle wiggled wiggling|chatter chattered chattering"""
ACT = """find found|take took|see saw|open opened|hold held|fix fixed|touch touched|carry carried|show showed|hide hid|throw
threw|pull pulled|push pushed|clean cleaned|lose lost|keep kept|give gave|drop dropped|use used|catch caught|wash
washed|break broke|share shared|paint painted|lift lifted|bring brought|grab grabbed|kick kicked|shake shook|turn turned|buy
bought|make made|save saved|follow followed|watch watched|hug hugged|wrap wrapped|fill filled|build built|borrow
borrowed|trade traded|polish polished|bury buried|drag dragged|squeeze squeezed|measure measured|examine examined|guard
guarded|steal stole|return returned|decorate decorated|cover covered|tie tied|tear tore|repair repaired|admire
admired|choose chose|collect collected|draw drew|stack stacked|balance balanced|toss tossed|pack packed|mend mended"""
SPOKE = """said asked replied shouted whispered cried answered laughed called smiled begged sighed yelled giggled explained
mumbled"""
MANNER = """quickly slowly happily carefully quietly together loudly softly gently bravely sadly politely again proudly
eagerly gladly kindly suddenly outside inside everywhere alone nearby upstairs downstairs angrily nervously patiently
cheerfully calmly secretly lazily merrily clumsily neatly wildly tightly silently excitedly hungrily safely badly barefoot
backwards sideways hard fast"""
WEATHER = """sunny rainy warm windy cold cloudy hot snowy stormy foggy quiet cool busy lovely bright gray frosty dry breezy
misty chilly beautiful"""
TIME = """morning day afternoon evening night summer winter spring autumn weekend monday sunday saturday birthday holiday
noon tuesday friday wednesday thursday"""
PART = """hand head arm foot leg nose eye ear finger tail back knee face hair mouth paw belly wing toe neck shoulder tooth
chin elbow cheek tongue heart thumb whisker feather"""
SOUND = """noise voice song splash bang whistle bark roar cry knock laugh crash squeak howl growl buzz thump rustle echo hum
click drip chirp rumble hiss snore meow"""
DANGER = """storm rain wind snow shadow dog bear wolf puddle hole thorn bee fire thunder lightning flood mud ice spider
snake monster ghost bull stranger witch thief troll wave avalanche"""
VIRTUE = """share help listen try wait care ask smile forgive learn trust apologize rest clean read save work think laugh
tell obey dare practice understand imagine believe cooperate"""
PEOPLE = """children animals friends people birds kids neighbors dogs cats rabbits bees teachers farmers ducks frogs
soldiers sailors parents students mice monkeys dancers"""
THINGS = """flowers trees toys stars clouds leaves books stones games shells cookies songs bugs colors stories berries
pictures rocks feathers blocks boats houses boxes balls lights mushrooms apples hats ribbons balloons trains candles bubbles
kites puzzles drums bells jokes riddles tricks"""
NUMBER = """two three many some four five ten six seven several a-few lots-of a-hundred eight nine twenty"""
MATTER = """wood gold stone glass paper sand snow straw clay metal wool silver cloth ice brick leather plastic cardboard
chocolate silk"""

CLASSES = {
    "kind": KIND, "family": FAMILY, "trait": TRAIT, "look": LOOK, "color": COLOR, "feeling": FEELING, "thing": OBJECT,
    "spot": PLACE, "food": FOOD, "spoke": SPOKE, "manner": MANNER, "weather": WEATHER, "time": TIME, "part": PART,
    "sound": SOUND, "danger": DANGER, "virtue": VIRTUE, "people": PEOPLE, "things": THINGS, "number": NUMBER, "matter": MATTER,
}  # fmt: skip
"""Words that a slot draws afresh each time."""
FORMS = {"move": (MOVE, ("move", "moved", "moving")), "act": (ACT, ("act", "acted"))}
"""Verbs, and the slots that draw their forms."""

PHRASES = {
    "what": """[a {look} {thing}|the {object}|a {color} {thing}|{number} {things}|{his} {thing}|the {look} {object}|it|a
    {thing} made of {matter}]""",
    "where": """[at|in|near|behind|by|around] [the {place}|the {spot}|the {look} {spot}|{his} {family} ' s {spot}]""",
    "who": "[{friend}|{friend}|{fhe}|{his} {family}|the {kind}|a {trait} {kind}|the {people}]",
    "hero": "[{name}|{name}|{he}|{he}|the {trait} {role}|little {name}]",
    "talk": """[let ' s {move} {where} [|, {friend}]|i [like|love|want|need|see|have|lost|found] {what}|do you want to
    [{move}|{act} {what}|go to the {place}]|look at [that|this|my] {look} {thing}|please [{act} {what}|{move} with me|help
    me|do not {move}]|you are [so|very|not|too] {trait} [|, {friend}]|what a {look} {thing}|i am [so|very|not|too]
    {feeling}|thank you [, {friend}|for the {thing}|so much]|we can [{act} {what}|{move} {where}|share the {food}]|where is
    [my {thing}|{who}|the {look} {object}]|can i [{act} {what}|{move} too|have some {food}]|do not be {feeling} , we will
    [find|fix|{act}] it|it is [too|so|very] {look}]""",
    "said": """[" {talk} [.|!|?|,] " {spoke} {who} .|" {talk} [.|!|?] "|{hero} {spoke} [|{manner}] , " {talk} [.|!|?]
    "|{who} {spoke} , " {talk} [.|!|?] "|{his} {family} told {him} to {virtue} .|||]""",
    "linking": "[then|so|but|soon|suddenly|after that|later|at first|now|the next {time}|one {weather} {time}|in the end] [,|]",
    "aside": """[the {spot} was {look} and {look} .|it was a {weather} {time} .|there were {number} {things} {where} .|{who}
    {moved} {manner} .|{hero} felt {feeling} .|the {people} were {moving} {where} .|{his} {part} was {look} .|{hero}
    [liked|loved|wanted] to {move} with {who} .|{hero} ate [some|the {look}|{his}] {food} [|and {moved} {manner}] .||||]""",
}
"""Parts of sentences."""

OPENINGS = (
    """once upon a time , [there was a {trait} {role} named {name}|a {trait} {role} named {name} lived {where}] . {he}
    [loved|liked |wanted] to {move} [{where}|with {his} {family}|all day|and {move}] . {one_day} , {name} [went|walked|ran]
    to the {place} with {his} {family} . {aside}""",
    """one {time} , a {trait} {role} named {name} was {moving} [in|at|near] the {place} . {he} had a {look} {object} that
    was {color} and {look} . {name} [loved|liked|carried] {his} {object} very much . {aside}""",
    """there was once a {trait} {role} . {his} name was {name} . {name} lived in a {look} {spot} with {his} {family} and
    {number} {people} . every {time} {he} {moved} to the {place} to {act} {what} .""",
    """{name} was a {trait} and {trait} {role} . {he} had a {look} {object} and a best friend named {friend} . {friend} was
    a {trait} {frole} . they liked to {move} together {where} .""",
)
EVENTS = (
    """{linking} {hero} saw {what} {where} . it was {look} and {look} . {hero} wanted to {act} it , but {he} was too
    {feeling} . {said}""",
    """{linking} {hero} met a {trait} {frole} named {friend} . {friend} was {moving} {where} . {said} {name} and {friend}
    {moved} {manner} and became friends .""",
    """{linking} {hero} heard a {look} {sound} {where} . {he} was {feeling} and {moved} {manner} . {said} it was only a
    {look} {kind} [!|.]""",
    """{friend} {acted} the {object} and {moved} {manner} . {hero} felt very {feeling} . {said} {friend} said that {fhe} was
    {feeling} and {acted} it back .""",
    """{linking} the {object} fell [into|on|behind|under] the {look} {thing} . {hero} tried to {act} it , but it was too
    {look} . {he} asked {who} for help . {said}""",
    """{hero} and {friend} [decided|wanted|tried|began] to {act} {what} . {they} {acted} {number} {things} and {acted} a
    {look} {thing} of {matter} . {aside}""",
    """{linking} {his} {family} [gave|brought|made|showed] {him} [some {look} {food}|{food} and {food}|some {food}] and
    {number} {things} . {hero} {acted} the {food} and said thank you . it tasted [so|very] {look} . {said}""",
    """{linking} there was a {look} {danger} {where} . {everyone} {moved} {manner} . {hero} was {feeling} , but {he} {acted}
    {what} and {acted} {what} . {said}""",
    """{hero} hurt {his} {part} on a {look} {thing} and began to cry . {who} {acted} {his} {part} and gave {him} some {look}
    {food} . [soon|then|after that] {he} felt {feeling} .""",
    """{said} {hero} [looked|smiled|pointed|nodded] at the {look} {object} . {said} {they} {moved} {where} until [it was
    dark|the {time}|{his} {family} called {him}] .""",
    """{linking} {hero} could not find {his} {object} . {he} looked {where} and {where} , but it was not there . {friend}
    said that a {trait} {kind} {acted} it . {said}""",
    """a {trait} {kind} [came|went|ran|flew] {where} and {acted} {what} . {hero} had an idea . {he} {acted} {what} and the
    {kind} {moved} {manner} . {aside}""",
    """{linking} {hero} and {who} went to the {spot} to {act} {number} {things} . {aside} {they} {moved} and {moved} until
    {their} {part} was {look} .""",
    """{friend} was {feeling} because {fhis} {thing} was {look} . {hero} gave {fhim} {his} {look} {object} . {said} {friend}
    hugged {name} and {moved} {manner} .""",
    """{linking} {hero} climbed on a {look} {thing} to see the {spot} . {he} saw {number} {people} {moving} {where} and a
    {color} {kind} with a {look} {part} . {said}""",
    """{linking} {they} played a game with {what} . {friend} [had|wanted|tried] to {act} it and {name} had to {move}
    {manner} . {aside} {said}""",
)
ENDINGS = (
    """at the end of the {time} , {name} went home and told {his} {family} about the {object} . {his} {family} said that it
    is good to {virtue} and {virtue} . {name} was {feeling} and slept well .""",
    """from that {time} on , {name} and {friend} {moved} together {where} every {time} . {they} always remembered to
    {virtue} . the end .""",
    """{name} learned that it is important to {virtue} . {he} [put|kept|hid] the {object} in a {look} {thing} and never
    {acted} it again . {name} and {friend} lived happily ever after .""",
    """{name} and {friend} {acted} the {object} and went back to the {place} . {aside} {everyone} was {feeling} , and {they}
    all had {food} and {food} .""",
)
"""Twenty-four templates; in place of {one_day}, {they} and such like stand the alternatives below."""
PHRASES |= {
    "one_day": "one [day|day|{time}|{weather} {time}]",
    "they": "[they|they|{name} and {friend}|the two friends]",
    "their": "[their|the {kind} ' s|every]",
    "everyone": "[everyone|everybody|{name}|{friend}|the {kind}]",
}

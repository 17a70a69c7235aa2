"""Idle words: what sounds like a must, a prohibition or an allergy and binds nothing, in English and Chinese: what never
was, guesses, sayings, and questions. All is for the legible form of a text, and linear on any."""

from __future__ import annotations

import re

from ctxkit.summaries.cues import words

__all__ = ["orders", "without_idle"]

_PLAINLY_PAST = (
    "was|were|did|had|got|went|came|knew|saw|gave|took|wrote|spoke|ate|drank|drove|flew|began|became|fell|broke|chose|forgot"
    "|rode|wore|grew|ran|rang|thought|heard|felt|said|told|liked|loved|wanted|worked|arrived|answered|replied|happened|bothered"
    "|received|noticed|figured|expected|imagined|reali[sz]ed"
)
"""Forms of verbs that no order has behind "never"."""

_PARTICIPLE = (
    r"(?:been|had|gone|done|got|gotten|seen|known|become|come|forgotten|fallen|given|taken|made|met|found|lost|left|felt|heard|said"
    r"|told|thought|meant|sent|kept|paid|put|set|read|written|spoken|bought|brought|broken|chosen|driven|flown|ridden|slept|spent"
    r"|stolen|stood|understood|misread|misheard|misunderstood|won|worn|begun|built|caught|cut|dealt|drunk|eaten|grown|held|hidden|hit|hurt|let|run|agreed"
    r"|(?!shed|embed|wed)\w{2,20}(?<!e)ed)(?!\w)"
)
_BEHIND_A_VERB = (
    r"(?=\W*\Z|[,.;:!?)]| (?:the|an?|my|your|his|her|its|our|their|th[ei]se?|that|those|it|me|you|him|us|them|i|we|s?he|they|to|in|on|at"
    r"|by|for|from|with|without|off|out|up|down|over|about|into|through|around|away|back|some\w{0,5}|so|too|very|all|when|while"
    r"|because|before|after|since|last|yesterday|today|already|again|just|there|here|wrong|and|or|but|of|as|more|less|twice|once"
    r"|quite|really)(?!\w))"
)
"""What stands behind a verb, and not behind a word that says of what sort a thing is, "must have written consent"."""

_NEVER_WAS = (
    rf"never (?:ever |even |once |yet )?(?:{_PLAINLY_PAST})(?!\w)"
    r"|(?:i|we|you|s?he|they) (?:\w{1,16}ly |ever |still |just |also ){0,2}never (?:ever |even |once |actually )?"
    rf"(?!come|put|set|read|cut|hit|hurt|let|run){_PARTICIPLE}"
    r"|(?:have|has|had|ive|(?:i|we|you|they|who) ?'ve)(?: \w{1,16}ly)? never(?: ever| even| once| yet| actually| really)?(?:(?=\W*\Z)"
    r"| (?!been (?:able|allowed|permitted)|tolerated|reacted|digested|eaten (?!there|here|at|in|it|that|this|such|so|any))"
    rf"{_PARTICIPLE})"
    r"|(?:s?he|it|that|there)'s never (?:been|had|done|gone|easy|great|good|fun|nice|an?)(?!\w)|(?:was|were|could) never"
    r"|i (?:may|might) never|never really|(?:you|i|we|one) never (?:ever )?know|i never(?=\W*\Z)|never (?:have|did|will)(?=\W*\Z)"
)
"""What never was, which nobody forbids."""

_SAYINGS = (
    r"never mind|never say never|never in (?:all )?my (?:whole |entire )?life|now or never|late than never|never too late"
    r"|never[- ]ending|like never before|forbidden (?:city|planet|forest|fruit|kingdom|palace)"
    r"|no (?:one|idea|wonder|way|doubt|matter) (?!may|must|should|shall|can|is to)(?:\w{1,20} ){0,2}ever|no (?:\w{1,20} ){1,3}ever since"
    r"|(?:i|we) must (?:\w{1,16}ly )?(?:say|admit|confess)|i must (?:go|run|leave)(?= now|\W*\Z|[,.!;])"
)
_MOODS = (
    r"(?:so |really |very |quite |pretty |such |too |feeling |getting |going |absolutely |totally )?(?:tired|exhausted|hungry|thirsty"
    r"|bored|crazy|mad|insane|confused|busy|excited|proud|happy|glad|sad|sick of|fed up|annoyed|angry|upset|worried|scared|shocked"
    r"|thrilled|relieved|disappointed|frustrated|freezing|starving|dreaming|thinking|wondering|missing|losing|confusing|asleep|stuck"
    r"|nice|lovely|great|wonderful|amazing|awesome|gorgeous|fun|funny|hard|tough|difficult|boring|annoying|frustrating|exciting"
    r"|interesting|hell|heaven|love|fate|magic|rough|painful|terrible|horrible|awful|an? (?:genius|angel|fan|advantage|relief"
    r"|pain|nightmare|shame|pity|sign|dream|challenge|joy|pleasure)|the (?:reason|wind|weather|only)"
    r"|on (?:his|her|their|its|the) way)(?!\w)|(?:right|wrong|true)(?= about|\W*\Z|[,.;!?])"
)
"""What is guessed of who hears it, or of what was said before."""

_ERRORS = (
    r"(?:kidding|joking|mistaken|something(?=\W*\Z|,| (?:wrong|else|off|with|about|like|you|we)(?!\w))|out of (?:your|my|his|her|their) mind"
    r"|(?:an?|some(?: kind of| sort of)?|the) (?:\w{1,12} )?(?:mistake|misunderstanding|error|joke|bug|glitch|typo|coincidence"
    r"|confusion))(?!\w)"
)
_GUESSES = (
    rf"(?:(?<!everyone )(?<!everybody )(?<![^isu]s )must(?: not|n't)? ?(?:have|'ve)|(?:cannot|can't|can not) have)"
    rf" (?:(?:been|had|got|gotten|forgotten)(?!\w)|{_PARTICIPLE}{_BEHIND_A_VERB})"
    r"|(?:cannot|can't|can not) have (?:lunch|dinner|breakfast) (?:today|tonight|tomorrow|now|with you)"
    rf"|must be {_ERRORS}|(?:you|s?he|they|i|we) (?:\w{{1,16}}ly )?must(?: all)? be (?:{_MOODS})"
    rf"|(?:it|that|this) (?:\w{{1,16}}ly )?must be (?:{_MOODS})(?=\W*\Z|[,.;!?]| (?:to|that|when|being|having|there|here|about)(?!\w)"
    r"| for (?:you|him|her|them)(?!\w))"
    r"|(?:you|s?he|they) must (?:really )?(?:love|hate|miss|wonder)(?!\w)"
)
"""What somebody takes to be so. "Guests must have been tested" is no guess: nobody guesses of several at once."""

_DO_NOT = r"(?:do not|do ?n't|dont)"
_NOT_SO = (
    rf"(?:i|we|you|they|people|these|those)(?: \w{{1,16}}ly| still| just| also| even)? {_DO_NOT}(?:(?=\W*\Z|[,.;!?])| (?:live|get|seem|look"
    r"|sound|exist|matter|help|recogni[sz]e|receive|own|hear|notice|expect|suppose|guess|doubt|blame|thank|regret|wish|love|hate|enjoy"
    r"|follow|wanna|really|quite|exactly|watch|play)(?!\w))"
    rf"|\w{{2,20}}s {_DO_NOT} (?:seem|sound|matter|exist|help|work|thank)(?!\w)"
    rf"|(?:i|we) {_DO_NOT} (?:miss|forget|lose|mess|overlook|waste|accidentally)(?!\w)"
    rf"|so (?:i|we) {_DO_NOT} (?:use|get|pay|end|do (?:it|this|that|anything))(?!\w)"
    rf"|(?:if|when|whenever|so that|although|unless|in case|why) (?:i|we|you|they|these|those|people) {_DO_NOT}|why {_DO_NOT} (?:we|you|i|they)"
    rf"|{_DO_NOT} (?:get me wrong|tell me (?:it|you|that|s?he|they|there|we|i)(?:'s|'re|'ve| is| are| was| were| have| has| can't| forgot| lost)|apologi[sz]e|panic|sweat|(?:mention it|bother)(?=\W*\Z|[,.;!])"
    r"|be (?:so |too )?(?:silly|sorry|shy|sad|ridiculous|afraid|upset|mad|angry|a stranger|discouraged|alarmed|surprised))(?!\w)"
)
"""What somebody does not do, or need not do, where "do not" forbids nothing."""

_NOT_EATEN = (
    r"allergic to (?:mondays?|mornings?|commitments?|work(?:ing)?|bullshit|nonsense|stupidity|stupid people|meetings?|drama|people"
    r"|boredom|homework|housework|spam|losing|failure|responsibility|politics)(?=\W*\Z|[.!?;)]|,? (?:lol|haha\w{0,9}|lmao|jk|though))"
    r"|(?:cannot|can't|can not) (?:eat|drink) (?:another (?:bite|thing|mouthful|crumb|slice|piece|drop|sip)|so much|that much|it all"
    r"|all (?:of )?(?:this|that|it)|any ?more(?=\W*\Z|[,.;!?]| now| today| tonight))(?!\w)"
    rf"|(?:{_DO_NOT}|does not|does ?n't|never) eat (?:(?:much|a lot|enough)(?=\W*\Z|[,.;!?]| (?:in|at|of|these|lately|for|when))"
    r"|out|breakfast|lunch|dinner|well|properly|there|here)(?!\w)"
)
"""Allergies that are none, and what is not eaten for other reasons than what it is."""

_HAN = (
    "不要太(?:好(?:吃|看|喝|玩|听|用|笑|[哦噢啊呀了~～！!])|[美香赞棒爽帅][哦噢啊呀了~～！!]|开心|精彩|舒服|可爱|方便|厉害|漂亮|幸福|完美|给力)"
    "|(?:(?<![代报報图圖])表|(?<![分秒])[钟鐘])不[准準](?=[了啊的]|\\W|\\Z)|[猜瞄拿]不[准準]|[说說]不[准準](?=[的呢还還会會]|\\W|\\Z)|不[准準](?:[时時](?![间間常不段])|[确確](?![认認定]))"
    "|不[许許][愿願诺諾]|能不能(?:吃|喝|碰|超[过過])|可不可以|不可以的[话話]|解[决決]不(?=[了掉好])"
    "|不[吃喝](?:[早午晚中]?[饭飯]|[早午晚]餐|早点|夜宵|宵夜|亏|虧|惊|驚|力|[这這]一?套|香(?![菜蕉菇肠椿草料瓜芋梨橙干葱])|什[么麼](?=[都呢吗嗎]|\\W|\\Z)|多少|完|下|饱|飽)"
    "|不能[吃喝](?:苦(?![瓜味的杏菊])|亏|虧)"
    "|(?:[从從]|永|永[远遠]|[绝絕決决]|[绝絕][对對])不(?:[后後]悔|知道|[觉覺]得|[认認][为為输輸]|[怀懷]疑|[担擔]心|失望|生[气氣]|撒[谎謊]|放[弃棄]|[气氣][馁餒]|是|[输輸逊遜亚亞]"
    "|[夸誇][张張]|意外|懂|明白|[过過][时時分])"
    "|一定不(?:知|[错錯]|容易|[简簡][单單]|便宜|相信|信|是|懂|明白|了解|差|[够夠])"
    "|千[万萬][别別](?:笑|介意|客[气氣]|[误誤][会會]|[见見]怪|生[气氣]|[担擔]心|[谢謝])|[别別](?:提[了多有]|[来來][无無]恙)"
    "|(?:(?<!\\w)|(?<=[那这這]))必[须須]的(?=[啊呀嘛吧哈]|\\W|\\Z)|必[须須](?:是在开玩笑|[夸誇]|点个?赞|表扬)|我必[须須](?:承[认認]|[说說](?=\\W|一句|[你这這那他她它]))"
    "|禁忌之恋|禁止[标標][志誌识識]|[记記]不得(?=[了清那这這]|\\W|\\Z)|[见見]不得(?=[人光别別你我他她])|[顾顧]不得(?=[上了那这這])|(?<![理自缘事来经])由不得(?=[你我他她])|[了要使急惹]不得(?=[了啊的]|\\W|\\Z)"
)

_IDLE = re.compile(
    words("|".join((_NEVER_WAS, _SAYINGS, _GUESSES, _NOT_SO, _NOT_EATEN)), f"(?:{_HAN})"), re.IGNORECASE
)

LONGEST_TAG = 48
"""Characters at the end of a text in which it is looked for what asks behind an order."""

_TAG = re.compile(
    r"[,;.! –—-]{1,3}(?:ok(?:ay)?|okey|please|pl[sz]|right|all ?right|yeah|yes|no|understood|got (?:it|that)|clear|deal|agreed|promised?"
    r"|hm+|huh|eh|(?:will|would|can|could) you(?: please| do that)?|is that (?:ok(?:ay)?|fine|clear|understood|possible|all right)"
    r"|do you understand(?: me| that)?)(?:,? (?:please|thanks|thank you))?[?？]\W{0,3}\Z"
    r"|[，,、。！!\s]{0,2}(?:(?:[这這][样樣]|[你您][们們]?|大家|都|能){0,2}(?:可以|行|好|成|明白|懂|了解|清楚|知道|[听聽][到见見懂]|[记記][住得]|收到|[没沒]问题"
    r"|[做办辦]到|做得到|ok)[了的]?(?:[吗嗎么麼嘛]|[没沒]有?)|好不好|行不行|可不可以|能不能(?:做到)?|成不成)[？?。!！~～]{0,3}\s{0,3}\Z",
    re.IGNORECASE,
)
"""What asks, behind an order, whether it was heard: "ok?", 好吗？"""

_FILLERS = r"\W{0,3}(?:(?:so|and|but|ok(?:ay)?|well|also|hi|hello|um+|uh|then|[请請][问問]|那[么麼]?|你好)\W{0,2}){0,3}"
_WHOM = (
    r" ?(?:i|you|we|they|s?he|it|there|this|that|these|those|the|an?|my|your|our|their|his|her|its|any\w{0,4}|all|some\w{0,4}|every\w{0,4}"
    r"|people)(?!\w)"
)
_ASKING_WORDS = "why|what|when|how|where|who|which"
_HELPERS = "must|do|does|did|is|are|was|were|do ?n't|does ?n't|is ?n't|are ?n't"
_WHETHER = "[为為]什[么麼]|[为為]何|[为為]啥|[凭憑]什[么麼]|是不是|是否|[难難]道"
_INVERTED = re.compile(
    rf"{_FILLERS}(?:(?<!\w)(?:(?:{_ASKING_WORDS})(?: \w{{1,20}}){{0,3}} )?(?:{_HELPERS}){_WHOM}|{_WHETHER})",
    re.IGNORECASE,
)
"""How a question begins, whatever ends it."""

_QUESTION = re.compile(
    rf"{_FILLERS}(?:(?<!\w)(?:(?:must(?! not| be| have)|do(?! not| me| ?n't)|does|did|is|are|was|were|(?:{_ASKING_WORDS})(?:'s)?)(?![A-Za-z'])"
    rf"|(?:{_HELPERS}){_WHOM})|{_WHETHER})",
    re.IGNORECASE,
)
"""How a text begins that is a question if a question mark ends it."""

_MARKED = re.compile(r"[?？]\W{0,3}\Z")
_ASKS_HAN = re.compile(r"(?:[吗嗎]|[么麼](?=[？?])|是不是|是否|对不对)[？?。！]?\W{0,3}\Z")
_CLAUSE_END = re.compile(r"[,;:.!?](?= )|[，；：。！？]| [–—-] ")
_IMPERATIVE = re.compile(
    r"\W{0,3}(?:(?:please|but|and|so|then|also|just|you) ){0,3}(?:do not|dont|do ?n't(?! (?:you|we|i|they)(?!\w))|never|under no|on no)(?!\w)"
    r"|\W{0,3}(?:[请請]|麻[烦煩]|但是?|所以|也|[还還]有)?(?:[千][万萬]|一定)?(?:不要(?!.{0,40}的[话話]|的)|[别別勿]|切勿|[务務]必|[绝絕]不|[严嚴]禁|禁止|不得|不[许許准準])",
    re.IGNORECASE,
)
_WHETHER_HAN = re.compile(_WHETHER)
_REGARDLESS = re.compile("[无無不][论論]|不管")
_ASKED_HAN = re.compile(
    "什[么麼]|几[点个天号时位]|多少|多久|哪|[谁誰]|怎[么麼]|如何|啥|何[时時]|要不要|能不能|有[没沒]有"
)
_TELLS = re.compile("告[诉訴]|[说說]明|解[释釋]|[确確][认認]|[检檢]查|弄清|知道|回答")


def without_idle(read: str) -> str:
    """A legible text, as long as it was, with blanks in the place of idle words."""
    return _IDLE.sub(lambda found: " " * len(found.group()), read)


def orders(read: str, rule: re.Pattern[str]) -> bool:
    """Whether a legible text with words of a rule says one, and does not only ask whether there is one.

    Args:
        rule: what finds the words of a rule.
    """
    tag = _TAG.search(read, max(0, len(read) - LONGEST_TAG))
    said = read[: tag.start()] if tag else read
    marked = tag is None and _MARKED.search(said) is not None
    *before, last = [clause for clause in _CLAUSE_END.split(said) if clause.strip(" ?？")] or [said]
    if tag is None and _ASKS_HAN.search(said[-LONGEST_TAG:]):
        return any(rule.search(clause) and _IMPERATIVE.match(clause) for clause in before)
    if (_QUESTION if marked else _INVERTED).match(said) and (marked or tag):
        return any(rule.search(clause) and _IMPERATIVE.match(clause) for clause in (*before, last))
    asked = [_is_asked(clause, rule) for clause in before] + [_is_asked(last, rule, marked=marked)]
    return not all(asked)


def _is_asked(clause: str, rule: re.Pattern[str], *, marked: bool = False) -> bool:
    """Whether a clause has no words of a rule, or only asks for one; "ask me whether" and "whether or not" do not ask."""
    found = rule.search(clause)
    if found is None:
        return True
    whether = _WHETHER_HAN.search(clause, 0, found.start())
    if whether and not _REGARDLESS.search(clause, 0, whether.start()):
        return True
    asked = _ASKED_HAN.search(clause) if marked else None
    return asked is not None and _TELLS.search(clause, found.end(), asked.start()) is None

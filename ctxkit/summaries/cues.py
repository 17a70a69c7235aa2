"""Cues: the words, English and Chinese, that tell what a sentence does. Each pattern is linear on any text."""

from __future__ import annotations

import re

from ctxkit.summaries.prose import legible

__all__ = [
    "asks",
    "assents",
    "binds",
    "commands",
    "commits",
    "decides",
    "is_small_talk",
    "narrates",
    "offers",
    "prefers",
    "proposes",
    "reports_done",
    "reports_open",
    "requests",
    "wonders",
]


def words(english: str, chinese: str) -> str:
    """The pattern of English words, whole, and of Chinese ones, wherever they stand."""
    return rf"(?<![A-Za-z0-9_])(?:{english})(?![A-Za-z0-9_])|{chinese}"


def _cue(english: str, chinese: str) -> re.Pattern[str]:
    """Words whatever their case."""
    return re.compile(words(english, chinese), re.IGNORECASE)


def _has(cue: re.Pattern[str], sentence: str) -> bool:
    return cue.search(legible(sentence)) is not None


def _begins(cue: re.Pattern[str], sentence: str) -> bool:
    return cue.match(legible(sentence)) is not None


VITAL = (
    r"allerg\w{0,8}|anaphyla\w{1,7}|intoleran\w{1,5}|coeliac|celiac|epi-?pens?"
    r"|(?:cannot|can['’]?t|can not|unable to) (?:eat|drink|tolerate|digest)"
    r"|(?:do not|don['’]?t|does not|doesn['’]?t|never) eat",
    "[过過]敏|不耐受|忌口|不能(?:吃|喝|碰)|(?:从|從|都|也|我|他|她|们|們)不(?:吃|喝)",
)
"""What says that something harms somebody, in English and Chinese."""

RULE = (
    r"must(?:n['’]?t)?|never|forbid\w{0,6}|forbade|prohibit\w{0,6}"
    r"|banned|can(?:not|['’]t| not) have|no (?:\w{1,20} ){1,3}ever|not (?:allowed|permitted)|under no circumstances?|on no account|no exceptions?|at all costs|shall not|contraindicat\w{1,6}"
    r"|(?:do not|do n['’]?t|don['’]?t)(?! (?:really |actually |even )?(?:know|think|understand|remember|see|mind|care|believe|recall|worry|hesitate"
    r"|have|need|feel|like|want|get it|mean)(?![A-Za-z]))"
    r"|please (?:do not|don['’]?t) have(?! to(?![A-Za-z]))|(?<![A-Za-z] )(?<![A-Za-z])do not have(?! to(?![A-Za-z]))"
    r"|(?<![A-Za-z] )(?<![A-Za-z])don['’]?t have (?:\w{1,20} ){1,4}?(?:\w{2,20}ed|be|call|come|deliver|go|knock|leave|ring|send|sent|ship|wait)(?![A-Za-z])",
    r"禁止|[严嚴]禁|禁忌|必[须須]|[务務]必|(?<!要)不要(?![紧緊钱錢])|不[许許]|不[准準]|(?<![舍捨巴恨怪])不得(?![不已了])|[请請]勿|切勿"
    r"|[绝絕決决]不|[绝絕][对對]不|不能(?:超[过過]|多于|少于|高于|低于|早于|晚于)"
    r"|千万(?:别|不)|一定不|永远不|永不|从不|不可以|(?<![特区分级类个离差告性识辨判鉴派])别(?=[放加给用打买发让再把吃动删改忘碰去来取告泄提安订退])",
)
"""What says that something must be, or must not."""

_BINDS = _cue(
    rf"{VITAL[0]}|{RULE[0]}|must(?:n['’]?t)?|never|always|pregnan\w{{1,4}}|no later than|at (?:most|least)|no (?:more|less) than"
    r"|(?:do not|don['’]t) (?:ever )?(?!know|think|worry|have|see|believe|mean|understand|need|mind|remember|recall|get|feel"
    r"|hesitate|care|want|like)\w{1,20}|(?:cannot|can['’]t|can not) (?:eat|drink|take|use|travel|fly|exceed|be|go over|afford)"
    r"|shouldn['’]t|should not|only (?:if|when|after|use)|make sure|be sure|without (?:asking|my)|deadline|keep in mind"
    r"|remember (?:that|to)|important|mandatory|required?|not exceed|has to be|have to be"
    r"|from (?:now|this (?:point|moment)) on(?:wards?)?|going forward|henceforth|for the rest of (?:this|the|our) (?:chat|conversation|session|project|talk)",
    f"{VITAL[1]}|{RULE[1]}|"
    "(?<!要)不要(?!紧)|(?<!能)不能(?!不)|(?<!可)不可(?!能|思)|不得(?!不)|千万|一定要|只能|最晚|最多|至少|不超过|截止|期限|怀孕|孕妇|始终|永远|从不|记住|牢记|重要|从现在[起开]|从今以后|[从從]今往后|[今以]后(?:都|请|别|一律|不要|不能|不许)",
)
_PREFERS = _cue(
    r"prefer\w{0,6}|rather|would like|i['’]d like|i (?:want|need|like|love|hate)|we (?:want|need)|wants? to|like to|favou?rite|budget"
    r"|hop(?:e|ing) (?:to|for)|looking for|interested in|i (?:don['’]t|do not) (?:want|like|need|mind)|instead of|as long as|ideally",
    "喜欢|偏好|更想|希望|想要|我想|我要|最好|优先|预算|倾向|讨厌|不想|爱吃|宁愿|需要",
)
_DECIDES = _cue(
    r"decided?|decision|let['’]?s (?:go|use|do|take|keep|stick)|(?:i|we)(?:['’]ll| will) (?:go with|take|use|keep|stick with)"
    r"|go ahead|go with|going with|settled? on|agreed|confirm(?:ed)?|i (?:choose|chose|pick|accept|agree)|we chose|approved?|please proceed",
    "决定|就选|就定|就这个|选定|确定|确认|同意|定了|说好|敲定|就要|就去|采用|批准",
)
_COMMITS = _cue(
    r"(?:i|we)(?:['’]ve| have)? (?:decided?|agreed|chose|settled on)|decision|it (?:is|was) (?:decided|agreed)|confirmed|approved",
    "决定|选定|确定|已确认|敲定|说好|批准",
)
_PROPOSES = _cue(
    r"should (?:we|i)|could|would you|maybe|perhaps|might|may|consider\w{0,5}|propos\w{1,5}|suggest\w{0,5}|recommend\w{0,6}|what if|how about"
    r"|options?|if|unless|whether|shall|do you want|let me know|can (?:you|we|i)|undecided|please confirm|need you to|before (?:i|we)"
    r"|(?:not|\w{1,9}n['’]t|never|without) (?:yet |been |quite )?(?:decided?|confirm(?:ed)?|agreed?|chosen|settled|approved?|made (?:a|the) decision)"
    r"|to (?:confirm|decide|approve)|until|once|pending|going to|plan(?:s|ning)? to|will be",
    "可以考虑|建议|要不|或者|也许|可能|提议|是否|如果|如何|怎么|还没|尚未|没有?决定|未定|未决|未确认|再想想|考虑一下|是不是|需要您?确认|请您?确认|打算",
)
_ACTIONS = (
    r"cancel+ed|booked|reserved|updated|changed|modified|refunded|issued|sent|created|added|removed|deleted|fixed|resolved|completed"
    r"|finished|submitted|processed|scheduled|ordered|purchased|bought|paid|shipped|delivered|deployed|merged|installed|implemented"
    r"|uploaded|downloaded|saved|written|applied|transferred|returned|exchanged|upgraded|downgraded|enabled|disabled|restarted|verified"
    r"|committed|pushed|renamed|moved|replaced|placed|registered|activated|closed|posted|done|converted|generated|built|refactored|configured"
)
_DONE = _cue(
    rf"(?:has|have|was|were|is|are|been|i['’]ve|we['’]ve|it['’]s|\A(?:i|we)) (?:(?:now|just|already|also|been|successfully|all) ){{0,3}}(?:{_ACTIONS})"
    rf"|successfully|\A\W{{0,3}}(?:{_ACTIONS})|tests? (?:now )?pass(?:ed)?",
    "已(?!有|婚|知|故)|成功|(?:完成|办好|办理好|预订好|订好|修复|搞定|取消|下单|支付|退款|发货|提交|处理好|弄好|做好)了",
)
_NOT_DONE = _cue(
    r"not|never|\w{1,9}n['’]t|cannot|fail(?:ed|s|ing|ure)?|unable|unsuccessful\w{0,2}|error|without",
    "没|未|不成功|失败|无法|不能|尚待",
)
_OPEN = _cue(
    r"to-?do|pending|still (?:need|have|has|to|waiting|open|missing|fail\w{0,3})|not yet|yet to|wait(?:ing)? (?:for|on)|await\w{0,3}|next steps?"
    r"|remaining|unresolved|outstanding|follow[- ]?up|fail(?:ed|s|ing|ure)?|blocked|remind|undecided"
    r"|(?:have|has)(?:n['’]t| not) (?:yet )?(?:decided|confirmed|chosen)",
    "待办|待(?:确认|处理|定|支付|审批|回复|付)|还需|尚未|未完成|还没|接下来|下一步|稍后|等待|遗留|没解决|失败|报错|再想想",
)
_IF = _cue("if|whether|in case", "如果|若|是否")
_REQUESTS = _cue(
    r"please|can you|could you|would you|i(?:['’]d| would) like|i want|i need|we (?:want|need)|help|looking for|(?:goal|task|aim|objective)"
    r"|(?:i['’]m|i am) trying|need to|find me|show me|let['’]?s",
    "请|帮|我想|我要|我需要|想要|麻烦|目标|任务|打算|我们要|能不能|可不可以",
)
_VERBS = re.compile(
    r"(?:now |then |and |so |ok(?:ay)?,? )?(?:fix|implement|write|build|create|add|book|cancel|change|make|find|update|remove|delete|refactor"
    r"|run|test|check|explain|translate|summari[sz]e|review|use|keep|move|rename|read|look|tell|give|set|install|deploy|plan|reserve)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？]|吗[。！]?\Z|呢[。！]?\Z")
_WONDERS = re.compile(
    r"(?:(?:okay|ok|alright|and|so|great|well|now|oh|um|uh|hmm|sure|yeah|good|right)\b[,.]? ?){0,4}(?:what|which|when|where|who|how|why|do|does|did|are"
    r"|is|was|were|have|has|had|can|could|would|will|should|any)\b",
    re.IGNORECASE,
)
_OFFERS = _cue(
    r"would you like|do you want|shall i|should i|may i|proceed|confirm|go ahead|agree|is that (?:ok(?:ay)?|correct|right|fine)|does that work",
    "是否|要不要|可以吗|好吗|行吗|确认|需要.{0,20}吗|要.{0,20}吗|为您",
)
_ASSENTS = re.compile(
    r"\W{0,3}(?:yes|yeah|yep|sure|ok(?:ay)?|correct|right|fine|great|perfect|好的?|可以|行|对|是的|没问题|嗯)(?![A-Za-z])",
    re.IGNORECASE,
)
_NARRATES = re.compile(
    r"(?:(?:now|next|first|then|so|ok(?:ay)?|good|great|perfect|alright|well|and|but|to)\b[,.!]? ?){0,2}(?:let me|let['’]?s|i['’]?ll|i will|i need to"
    r"|i should|i see\b|i can\b|i (?:am|['’]m) going to|i['’]m going to|we need to|we should|assist|proceed|here (?:is|are)|here['’]s|would you"
    r"|please (?:confirm|provide|let|tell|share|wait|hold))|(?:现在|首先|接下来)?(?:让我|我来|我将|请稍等|以下是)",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    r"\W{0,3}(?:thanks?(?: you)?|hi|hello|hey|good (?:morning|afternoon|evening|day)|you['’]re welcome|bye|goodbye|see you|have a"
    r"|i(?:['’]m| am) (?:sorry|glad|happy|here)|sorry|welcome|no problem|of course|certainly|absolutely|great|perfect|sure|let me"
    r"|i apologi[sz]e|is there anything|if you (?:have|need)|feel free|谢谢|多谢|你好|您好|再见|不客气|不用谢|没事|祝您?|好的|好呀|抱歉)"
    r"(?![A-Za-z])",
    re.IGNORECASE,
)
_COMMANDS = _cue(
    r"ignore|disregard|forget (?:all|any|every|what|your|previous)|instructions?|system prompt|you (?:must|should|are now|will|have to|need to)"
    r"|from now on|assistant:|system:|user:|act as|pretend|do not (?:tell|mention|reveal|inform)|never (?:tell|mention|reveal)|as an ai"
    r"|(?:always|never|please|must|do not|don['’]t) \w{1,20}",
    "忽略|无视|指令|系统提示|你(?:必须|应该|现在是|要|需要)|从现在(?:起|开始)|不要(?:告诉|提)|不得(?:告诉|提)|必须|务必|请(?:将|把|立即|你)",
)


def binds(sentence: str) -> bool:
    """Whether it binds what comes after: an allergy, a must, a prohibition, a limit, a deadline that is called
    one."""
    return _has(_BINDS, sentence)


def prefers(sentence: str) -> bool:
    """Whether it says what somebody wants or likes."""
    return _has(_PREFERS, sentence)


def proposes(sentence: str) -> bool:
    """Whether it only weighs something: a question, a proposal, a condition, something not decided yet."""
    return asks(sentence) or _has(_PROPOSES, sentence)


def decides(sentence: str) -> bool:
    """Whether it states a decision; a proposal or a question states none."""
    return _has(_DECIDES, sentence) and not proposes(sentence)


def commits(sentence: str) -> bool:
    """Whether it says that something was decided: in the assistant's mouth "let's go ahead" only goes on."""
    return _has(_COMMITS, sentence) and not (proposes(sentence) or narrates(sentence))


def narrates(sentence: str) -> bool:
    """Whether it tells what its speaker is about to say or do."""
    return _begins(_NARRATES, sentence)


def reports_done(sentence: str) -> bool:
    """Whether it says that something was done, and not that it was not."""
    return _has(_DONE, sentence) and not (proposes(sentence) or _has(_NOT_DONE, sentence))


def reports_open(sentence: str) -> bool:
    """Whether it says that something has yet to be done, or failed."""
    return _has(_OPEN, sentence) and not (asks(sentence) or _has(_IF, sentence))


def requests(sentence: str) -> bool:
    """Whether it asks for something to be done."""
    return _has(_REQUESTS, sentence) or _begins(_VERBS, sentence)


def asks(sentence: str) -> bool:
    """Whether it is a question."""
    return _has(_ASKS, sentence)


def wonders(sentence: str) -> bool:
    """Whether it is a question, or begins as one: speech that was written down has no question marks."""
    return asks(sentence) or (_begins(_WONDERS, sentence) and not sentence.endswith((".", "。", "!")))


def offers(sentence: str) -> bool:
    """Whether it asks for a yes to something that would be done then."""
    return _has(_OFFERS, sentence)


def assents(sentence: str) -> bool:
    """Whether it begins with a yes."""
    return _begins(_ASSENTS, sentence)


def is_small_talk(sentence: str) -> bool:
    """Whether it begins as thanks, greetings and offers of help do."""
    return _begins(_SMALL_TALK, sentence)


def commands(sentence: str) -> bool:
    """Whether it tells its reader what to do: in text of a tool that is data, and no part of a summary."""
    return _has(_COMMANDS, sentence)

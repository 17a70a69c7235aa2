"""Vocabulary in English and Chinese, as pieces of regular expressions: drugs, amounts, conditions, relatives."""

from __future__ import annotations

__all__ = [
    "AMOUNT",
    "BLOOD_THINNERS",
    "CANNOT",
    "CONDITIONS",
    "DRUGS",
    "FAMILIES",
    "KIN",
    "NAMED_DRUGS",
    "NOT",
    "NUMBER_WORDS",
    "OFTEN",
    "PIECES",
    "STRENGTH",
    "UNITS",
    "ZH_AMOUNT",
    "ZH_BLOOD_THINNERS",
    "ZH_CONDITIONS",
    "ZH_DRUGS",
    "ZH_OFTEN",
]

NOT = r"n(?:['’]| ?['’])?t"
"""The end of "can't", "can’t", "cant" and, in transcripts, "ca n't"."""
CANNOT = (
    rf"can(?:not| not|['’]?t)|ca {NOT}|(?:could|must|should)(?: not| ?{NOT})|never|unable to"
    "|not (?:supposed |allowed |able )?to"
)

BLOOD_THINNERS = (
    "warfarin|coumadin|heparin|enoxaparin|lovenox|apixaban|eliquis|rivaroxaban|xarelto|dabigatran|pradaxa"
    "|edoxaban|clopidogrel|plavix|ticagrelor|brilinta|prasugrel"
)
NAMED_DRUGS = (
    f"{BLOOD_THINNERS}|aspirin|nsaids?|advil|motrin|aleve|tylenol|ibuprofen|sulfa|insulin|keppra|lasix|norvasc|zoloft"
    "|prozac|crestor|[a-z]{2,20}(?:pril|sartan|statin|olol|cillin|mycin|cycline|oxacin|azole|profen|formin|zepam"
    "|semide|thiazide|dipine|xaban|grel|darone|codone|triptan|oxicam|prazole|roxen|metha?sone|olone)"
)
DRUGS = f"{NAMED_DRUGS}|(?:non-steroidal )?anti-inflammator(?:y|ies)|steroids?|meds?|medications?|medicines?|pills?|supplements?"
ZH_BLOOD_THINNERS = "华法林|肝素|利伐沙班|达比加群|阿哌沙班|艾多沙班|氯吡格雷|替格瑞洛"
ZH_DRUGS = (
    f"{ZH_BLOOD_THINNERS}|阿司匹林|布洛芬|对乙酰氨基酚|青霉素|磺胺|二甲双胍|胰岛素|头孢[\u4e00-\u9fff]{{0,3}}"
    "|[\u4e00-\u9fff]{1,3}(?:西林|霉素|沙星|洛尔|地平|普利|沙坦|他汀|拉唑|西泮)"
)

FAMILIES = (
    "penicillin|augmentin|[a-z]{2,12}cillin|青霉素|[\u4e00-\u9fff]{1,3}西林",
    "sulfa|sulfamethoxazole|bactrim|septra|磺胺",
    "nsaids?|aspirin|ibuprofen|advil|motrin|naproxen|naprosyn|aleve|diclofenac|meloxicam|布洛芬|萘普生|双氯芬酸",
    "cephalosporins?|cephalexin|keflex|cef[a-z]{4,12}|头孢",
)
"""Drugs that stand for one another when one of them must not be taken: penicillins, sulfonamides, NSAIDs,
cephalosporins."""

NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty"
    "|ninety|hundred|thousand|half|point"
)
_NUMBER = rf"(?:\d[\d,]*(?:\.\d+)?|(?:an? )?(?:(?:{NUMBER_WORDS})\b[ -]?){{1,4}})"
UNITS = "mg|m g|milligrams?|mcg|m c g|micrograms?|µg|grams?|ml|milliliters?|iu|units?|puffs?"
PIECES = "g|tablets?|pills?|capsules?|drops?"
STRENGTH = rf"{_NUMBER} ?(?:{UNITS})\b"
AMOUNT = rf"\b(?:{STRENGTH}|{_NUMBER} ?(?:{PIECES})\b)"
OFTEN = (
    r"(?:[ ,]{1,3}(?:(?:once|twice|(?:one|two|three|four|\d) times)(?: (?:a|per|each|every))?(?: (?:day|daily|week))?"
    r"|daily|weekly|nightly|(?:a|per|each|every) (?:day|night|morning|evening|week|other day)"
    r"|every (?:[\w-]+ ){1,3}hours?|at bedtime|as needed|with food|before meals|by mouth|(?:b\.?i|t\.?i|q)\.?d)\b){0,4}"
)
ZH_AMOUNT = r"(?:\d+(?:\.\d+)?|[半一二两三四五六七八九十百]+) ?(?:毫克|微克|克|毫升|单位|片|粒|滴|支|丸|袋|喷|mg|ml|g)"
ZH_OFTEN = r"(?:[，, ]?(?:每[天日晚早周]|[一每]日|一天|早晚|睡前|饭[前后])(?:[一二两三四各\d]次)?){0,3}"

CONDITIONS = (
    r"(?:type (?:1|2|one|two) )?diabetes|hypertension|high blood pressure|asthma|epilepsy|seizures|glaucoma"
    r"|(?:peptic |stomach )?ulcers?|heart failure|coronary artery disease|atrial fibrillation|a-?fib|stroke|copd"
    r"|hepatitis|(?:chronic )?(?:kidney|liver|renal) (?:disease|failure)|cirrhosis|pacemaker|hiv|ha?emophilia"
)
ZH_CONDITIONS = "糖尿病|高血压|哮喘|癫痫|青光眼|胃溃疡|心衰|心力衰竭|冠心病|房颤|肝炎|肝硬化|肾病|肾功能不全|中风|脑梗|蚕豆病"

KIN = (
    r"\b(?:my|his|her|your) (mother|mom|father|dad|brother|sister|son|daughter|wife|husband|aunt|uncle|grand(?:mother"
    r"|father)|family|parents|relatives)\b|我(?:的)?(妈妈?|母亲|爸爸?|父亲|儿子|女儿|妻子|老婆|丈夫|老公|哥哥|弟弟|姐姐|妹妹|孩子)"
)

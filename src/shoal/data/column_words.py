r"""What the name and the label of a column say that it holds, in whole words of five languages.

Names are taken apart where their writing changes (`patientId`, `PATIENT_ID` and `patient id` are two words, `address1`
is one and a number), letters lose their accents, and a term counts only where it stands as a word: `age` is none in
wage, dosage or mortgage. A label says more than a name does, so that it is asked first; what speaks of money, counts or
scores is no trait of a person whatever else it names ("income by age").
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """Words that speak of one thing.

    Parameters
    ----------
    role
        What a column with these words is: a role of a plan, `unit` for a number of a cluster of the sample, or empty
        for what is none of them.
    letter
        Of the identifiers of HIPAA (`identifiers.IDENTIFIERS`) that it is; empty for none.
    words
        As a pattern that whole words match.
    doubtful
        Whether the same words are used of other things.
    """

    role: str
    words: re.Pattern[str]
    letter: str = ""
    doubtful: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a column holds by its words.

    Parameters
    ----------
    words
        That say so, as they stand in the text without accents and capitals.
    where
        `name` or `label`.
    """

    term: Term
    words: str
    where: str

    @property
    def role(self) -> str:
        return self.term.role

    @property
    def said(self) -> str:
        """For people."""
        return f"its {self.where} says '{self.words}'"


def _term(role: str, *words: str, letter: str = "", doubtful: bool = False) -> Term:
    alternatives = "|".join(words)
    return Term(role=role, words=re.compile(rf"\b(?:{alternatives})\b"), letter=letter, doubtful=doubtful)


PEOPLE = (
    "(?:patient|person|personal|persona|individual|subject|case|respondent|participant|member|customer|client|employee|"
    "worker|staff|student|pupil|user|resident|donor|beneficiary|voter|citizen|taxpayer|applicant|record|row|"
    "paciente|cliente|empleado|dipendente|paziente|salarie|individu|patienten|kunden|personen|fall|pat|pers)"
)
STAYS = "(?:admission|hadm|encounter|visit|stay|icustay|transfer|episode|claim|referral|order|sample|specimen|study)"
NUMBER = (
    "(?:id|ids|identifier|identification(?: number)?|identity|no|nr|nbr|num|number|nummer|numero|n|code|key|seq\\w*|"
    "serial)"
)
PLACES = (
    "(?:school|hospital|clinic|practice|practitioner|physician|doctor|provider|facility|institution|employer|firm|site|"
    "center|centre|care site|location|region|area|state|county|city|country|district|ward|department|branch|station|"
    "store)"
)
HOUSE = "(?:households?|hh|hhld|menage|foyer|hogar|famiglia|haushalts?|familie)"

AGE = _term("quasi-identifier", "ages?(?! (?:when|at|of onset|first|started))", "aged", "age[ap]", "ageyrs?", "alter",
    "edad", "eta", "\\w*alter(?:sgruppe|sjahre)?")  # fmt: skip

TERMS: tuple[Term, ...] = (
    # What names a person by itself, whatever stands beside it
    _term("identifier", "social ?security ?(?:n\\w*|id\\w*)", "ssn", "nin", "dni", "nif", "nie", "passport",
        "passeport", "pasaporte", "passaporto", "reisepass", "personalausweis", "national id\\w*",
        "(?:tax|steuer) ?" + NUMBER, "tin", "cod ?fisc", "codice fiscale", "sozialversicherungsnummer",
        "documento nacional", "numero de securite sociale", letter="G"),
    _term("identifier", "mrn", "medical ?record ?\\w*", "chart ?" + NUMBER, "nhs(?: ?number)?", "hospital ?no",
        "numero de historia", "historia clinica", "nhc", "patientennummer", "patnr", "patient ?" + NUMBER,
        letter="H"),
    _term("identifier", "(?:insurance|policy|beneficiary|insured) ?" + NUMBER, "hicn", "mbi", "kvnr",
        "(?:kranken)?versichertennummer", "numero de afiliacion", "tessera sanitaria", letter="I"),
    _term("identifier", "iban", "(?:bank ?)?account ?" + NUMBER, "konto ?(?:nummer|nr)", "credit ?card\\w*",
        "card ?" + NUMBER, "numero de cuenta", letter="J"),
    _term("identifier", "(?:driver s?|drivers|driving)? ?(?:licen[sc]e|permit|certificate) ?" + NUMBER + "?",
        "fuhrerschein\\w*", "permis de conduire", letter="K"),
    _term("identifier", "vin", "(?:number|licen[sc]e|vehicle)? ?plate", "vehicle ?" + NUMBER,
        "registration ?" + NUMBER, "matricula", "kennzeichen", letter="L"),
    _term("identifier", "imei", "mac(?: ?address)?", "udi", "device ?(?:serial|" + NUMBER + ")", letter="M"),
    _term("identifier", "ip", "ip ?address(?:es)?", "ipv[46]", letter="O"),
    _term("identifier", "e ?mails?(?: ?address)?", "mail(?: ?address)?", "correo(?: electronico)?", "courriel",
        letter="F"),
    _term("identifier", "urls?", "websites?", "homepage", "web ?(?:site|page|address)", letter="N"),
    _term("identifier", "fax", "telefax", letter="E"),
    _term("identifier", "(?:(?:tele|cell|mobile)? ?phones?|mobile|tel)(?: ?" + NUMBER + "|$| of)", "telefon\\w*",
        "telefono", "handy ?nr", "cellulare", "portable ?" + NUMBER, letter="D"),
    _term("identifier", "fingerprints?", "voice ?prints?", "retina", "iris ?scan", "biometric\\w*", "genome", "dna",
        letter="P"),
    _term("identifier", "photos?", "photographs?", "portrait", letter="Q"),
    _term("identifier", "(?:first|last|middle|maiden|full|family|given|birth|nick) ?names?", "sur ?names?",
        "forenames?", "name of the (?:patient|person|respondent|employee|customer|child|mother|father)", "(?:"
        + PEOPLE + "|contact|child|mother|father|spouse|doctor|physician|utility|company|firm|business|enterprise)"
        "(?: s)? ?names?", "initials", "vorname\\w*", "nachname\\w*", "familienname", "prenom", "nom de famille",
        "apellidos?", "cognome?", letter="A"),
    # Codes of anything but people
    _term("", "(?:item|product|drug|article|test|medication|generic|brand|category|variable|question|file|event|"
        "measurement|unit) (?:concept )?(?:ids?|names?|" + NUMBER + ")",
        "identifier of the (?:measurement|item|product|drug|test)", "name ?prefix"),
    _term("quasi-identifier",
        "(?:gender|race|ethnicity|sex|admission|marital|age) (?:\\w+ )?(?:concept|type|group|category)" " ids?",
        "(?:physician|physn|provider|practitioner)(?: npi)?(?: number)?"),
    _term("quasi-identifier", PLACES + "(?: s)? ?(?:names?|" + NUMBER + ")", "code of the general practitioner",
        "gp ?code", doubtful=True),
    # Kilograms before sampling weights
    _term("", "drg", "relative weight", "(?:case|cost) ?(?:mix )?weight", "weight of the drg"),
    _term("quasi-identifier", "(?:body|birth|admission|patient|reported|current|measured) ?weight", "how tall",
        "(?:weight|gewicht|poids|peso|wt)\\b.{0,40}\\b(?:kg|kgs|kilo\\w*|pounds?|lbs?|grams?|gramm|gr)",
        "(?:korper|geburts)gewicht", "wtkg"),
    _term("weight", "(?:sampl\\w+|survey|design|final|analysis|person(?:al)?|individual|" + HOUSE
        + "|housing unit|population|post ?"
        "stratification|cross ?sectional|longitudinal|interview|exam\\w*|probability|expansion|calibrat\\w+|grossing|"
        "replicate|base|jack ?knife|bootstrap|raking|wave|trimmed|statistical|unit)(?: s)?(?: \\w+){0,2} weights?",
        "weighting(?: factor)?", "weight factor", "(?:expansion|grossing|inflation|extrapolation) factor",
        "\\w*hochrechnungsfaktor", "\\w*gewichtung(?:sfaktor)?", "(?:design|personen|haushalts|ost west) ?gewicht",
        "poids (?:de sondage|d echantillon\\w*|de l individu|du menage|individuel|final|de la personne)",
        "ponder\\w+", "factor (?:de )?(?:elevacion|expansion|ponderacion|el|adulto)",
        "peso (?:campionario|muestral|di riporto)", "coefficiente di (?:riporto|ponderazione)",
        "weights?[ :](?:land|including)\\w*", "\\w{0,5}wgh?ts?p?\\w{0,3}", "[pdq]?an?weights?", "[pdhi]weights?",
        "pw", "perwt", "hhwt", "i?pondi?", "[ph]hrf", "coeffy?", "fac ?exp"),
    _term("weight", "weights?", "wts?", "gewicht", "poids", "peso", doubtful=True),
    _term("household", "(?:original )?" + HOUSE + "(?: s)? ?(?:serial|sequence|original|case)? ?"
        + NUMBER + "(?! of)",
        "(?:id|identifier|identification|(?:serial|sequence|reference) number|identifiant|identificador|identificativo)"
        "(?: (?:of|du|de|del|della|des|di))?(?: (?:the|la))? " + HOUSE,
        "numero del questionario famiglia", "haushaltsnummer", "haushalts(?:id|nr)", "numero (?:de|del) hogar",
        "hhid", "hh(?:nr|num|no|id|seqnum)", "hid", "(?:id|ident) ?(?:hh|men|hogar|menage)", "idhogar",
        "(?:ori )?hid"),
    # Clusters and strata of the sample
    _term("unit", "psu", "ssu", "(?:primary |secondary |final |ultimate )?sampling units?", "pseudo psu",
        "cluster(?: ?" + NUMBER + ")?", "cluster for variance estimation", "enumeration areas?", "klumpen", "grappe",
        "conglomerado", "unidad primaria"),
    _term("stratum", "strat(?:um|a|e|ification|s)?", "pseudo strat\\w+", "estrato", "strato", "strate", "schicht",
        "strata for variance estimation", "stratification (?:used|variable)", "sample design stratification"),
    # Numbers of persons, stays and records
    _term("identifier", "(?:line|sequence|order|serial)? ?number within (?:the )?" + HOUSE, letter="R",
        doubtful=True),
    _term("", "(?:person|line) number in (?:sample )?unit", "(?:respondent s )?line number",
        "numero de orden de la persona", "numero d ordine del componente"),
    _term("identifier", "(?:" + PEOPLE + "|" + STAYS + ")(?: s)? ?(?:sequence|serial|unit stay)? ?" + NUMBER,
        "unique (?:\\w+ )?" + NUMBER, "primary key", "(?:annual )?sequence number", "identification number",
        "(?:personen|fall|identifikations|ausweis|mitglieds|kunden)nummer", "(?:fall|pers|kunden)nr", "identifiant",
        "identificador", "identificativo", "numero d ordre individuel", "case identification",
        "identifikationsnummer", "uniquepid", "\\w*patient\\w*id",
        "(?:pid|cid|idno|seqno|caseid|respid|persnr|itemno)", "ids?", "uuid", "guid", "identifier",
        "user ?(?:name|id|no)", "login", letter="R"),
    # Counts and sums of what a person gets, does or says
    _term("", "incomes?", "wages?", "salar\\w+", "earn\\w+", "expend\\w*", "costs?", "expenses?", "charges?",
        "revenues?", "sales", "tax\\w*", "prices?", "amounts?", "benefits?", "dividends?", "payments?",
        "contributions?", "losses", "deduction", "poverty", "wealth", "savings", "assets", "debts?", "einkommen",
        "\\w*einkommen", "gehalt", "lohn", "salaires?", "revenus?", "ingresos?", "gastos?", "reddit[oi]", "consumi",
        "ratio", "index(?! on)", "scores?", "rates?", "mass", "percent(?:age)?",
        "(?:days?|hours?|minutes?|times?) (?:per|worked|usually|physical)",
        "number of (?:days|hours|times|cigarettes|visits|drinks|minutes|rooms)", "hours usually", "work time",
        "difficulty", "satisfaction", "trust\\w*", "surface", "floor area", "sqm", "square met\\w+", "hemo\\w+",
        "income level", "told", "smok\\w+", "diagnos\\w+", "value of", "house value", "make ends meet"),
    # What others know of a person
    _term("quasi-identifier", "zips?(?: ?codes?)?", "post ?codes?", "postal(?: ?codes?)?", "plz", "postleitzahl",
        "code ?postal", "cod ?post", "codigo postal", "address ?(?:city|state|county|zip)", "city", "cities",
        "towns?", "villages?", "county", "counties", "municip\\w+", "commune", "comun[ei]", "gemeinden?",
        "gemeinde\\w+", "kreis", "landkreis", "districts?", "parish", "borough", "precinct", "neighbou?rhoods?",
        "areas?", "lat", "lon", "lng", "long", "latitude", "longitude", "breitengrad", "langengrad", "latitud",
        "longitud", "latitudine", "longitudine", "geo\\w*", "gps", "coordinates?", "puma", "fips", "locations?",
        "co ordinates?", "nuts ?\\d?", "tract", "census block", "wohnort", "ort", "ciudad", "citta", "ville",
        "localidad", "domicil\\w*", "domicilio", letter="B"),
    _term("identifier", "street(?: ?address)?", "(?:home|mailing|postal)? ?address(?:es)?", "strasse", "hausnummer",
        "adresse", "anschrift", "direccion", "indirizzo", "rue", "calle", "via", letter="B"),
    _term("quasi-identifier", "dates?", "dob", "dod", "births?", "birth ?day", "birth ?date", "death ?(?:date|time)",
        "deaths?", "died", "birth ?(?:yr|year)", "\\w*datum", "fechas?", "data di \\w+", "naissance", "nacimiento",
        "nascita", "nasc\\w*", "geburts\\w+", "geb(?:jahr|monat|dat)?", "yob", "yr ?brn", "date ?(?:of|de) \\w+",
        "(?:date|day|month|year|time) of (?:birth|death|interview|admission|discharge|in hospital death|diagnosis)",
        "annee de naissance", "admissions?(?! diagnosis)", "admit\\w*", "disch\\w*(?: ?time)?", "deathtime",
        letter="C"),
    AGE,
    _term("quasi-identifier", "sex\\w{0,3}", "gender", "gndr", "geschlecht", "sexo", "sexe", "sesso", "genero",
        "(?:fe)?male"),
    _term("quasi-identifier", "marital\\w*", "marit", "marst\\w*", "mstat", "married", "spouse", "familienstand",
        "civil ?(?:status|stand)", "\\w{0,3}civil", "estado civil", "stato civile", "etat (?:civil|matrimonial)",
        "matrimonial", "nation\\w*", "nacion\\w*", "nazion\\w*", "nat", "staatsangehorigkeit", "citizen\\w*",
        "cittadin\\w*", "ciudadania", "citoyennete", "race", "races", "rac1p", "ethnic\\w*", "hispan\\w*", "hisp",
        "ancestry", "origin", "countr(?:y|ies)(?! s)", "cntry", "pays", "pais", "paese", "herkunft\\w*", "migra\\w+",
        "immigra\\w+", "years of residence", "born", "birthplace", "bpl", "languages?", "mother tongue", "sprache",
        "langue", "idioma", "religio\\w*", "relig", "denomination", "konfession", "confession", "veterans?",
        "military", "armed forces", "disab\\w+", "kinship", "relation\\w*", "relat\\w{0,1}", "tribe", "caste"),
    _term("quasi-identifier", "educ\\w*", "edu", "isced\\w*", "schooling", "school", "degrees?", "diplom\\w*", "dipl",
        "bildung\\w*", "\\w*abschluss", "estudios", "titolo di studio", "studi", "etudes", "study level", "occup\\w*",
        "occ", "isco", "ocupacion", "profes\\w*", "prof", "beruf\\w*", "metier", "job", "jobs", "job ?titles?",
        "industr\\w*", "indp", "nace", "economic activity", "employer", "empl?(?:oy|stat)\\w*", "work ?class",
        "(?:labou?r|economic|employment|work) status", "status of employment", "wirtschaftszweig", "branche"),
    _term("quasi-identifier", "states?", "state ?fip", "regions?", "ireg", "region\\w*", "provinc\\w*", "prov",
        "bundesland", "land", "bula", "federal state", "departements?", "comunidad autonoma", "ccaa", "cantons?",
        "kanton", "prefecture", "governorate", "metro\\w*", "urban\\w*", "urb ?rur", "rural", "residen\\w*",
        "wohn\\w+", "density", "degurba", "domicile", "housing\\w*", "dwelling\\w*", "tenure", "own ?rent",
        "type de menage"),
    _term("quasi-identifier", HOUSE + "(?: s)? ?(?:size|type|members?|composition)", "h?hsize", "hhmmb",
        "family ?(?:size|type|composition)", "(?:number of|total|own|living) (?:\\w+ )?(?:children|people|persons|"
        "household members|members)", "zahl der personen", "children", "brothers?", "sisters?", "siblings?", "sibs",
        "n ?child\\w*", "kinder", "enfants", "hijos", "figli", "haushaltsgrosse", "heights?", "korpergrosse",
        "estatura", "statura", "altezza", "hair", "eyes? ?colou?r", "blood ?(?:type|group)", "pregnan\\w*",
        "patient"),
    # What looks like a code of somebody or something, and is none of the above
    _term("identifier", "(?!covid|\\w*(?:roid|pid|uid|mid|aid)\\b)\\w{4,}id", "\\w{4,}nr", letter="R", doubtful=True),
    _term("quasi-identifier", "\\w*codes?", "\\w+cd", doubtful=True),
)  # fmt: skip
"""From the narrowest to the widest: the first that a text holds decides."""

ALONE = {
    "household": "household", "hh": "household", "haushalt": "household", "hogar": "household", "menage": "household",
    "serial": "household", "name": "identifier", "nom": "identifier", "nome": "identifier", "nombre": "identifier",
    "first": "identifier", "last": "identifier", "key": "identifier", "patient": "identifier", "patients": "identifier",
    "person": "identifier", "subject": "identifier", "customer": "identifier", "client": "identifier",
}  # fmt: skip
"""Words that say it only where they are the whole name or label."""


def words_in(text: str) -> str:
    """The words of a name or a label, small, without accents and signs, with blanks between them."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", _bare(text))
    return " ".join(re.findall(r"[a-z]+|\d+", split.lower()))


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def meaning(name: str, label: str = "") -> Meaning | None:
    """What a column holds by its label, or where that says nothing by its name; None where neither does."""
    return next(meanings(name, label), None)


def meanings(name: str, label: str = "") -> Iterator[Meaning]:
    """All that label and name of a column speak of, what decides first."""
    for where, text in (("label", words_in(label)), ("name", words_in(name))):
        if text in ALONE:
            whole = Term(role=ALONE[text], words=re.compile(text), letter="R" if text in PEOPLE else "")
            yield Meaning(term=whole, words=text, where=where)
        yield from _spoken_of(text, where)


@cache
def _spoken_of(text: str, where: str) -> tuple[Meaning, ...]:
    matches = ((term, term.words.search(text)) for term in TERMS) if text else ()
    return tuple(Meaning(term=term, words=match[0].strip(), where=where) for term, match in matches if match)

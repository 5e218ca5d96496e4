# SPDX-License-Identifier: GPL-2.0-only
"""The mutants of C source: small faults that are put into it, one at a time.

A mutant is known by its file, its function, and the lines that it changes, before and after. So it
is found again when lines move. Lines that occur twice in a function are told apart: the second is
in "FUNCTION:2".
"""
import collections
import re

TOKEN = re.compile(r"""
    (?P<comment> /\*.*?\*/ | //[^\n]* )
  | (?P<string> "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' )
  | (?P<number> 0[xX][0-9a-fA-F]+[uUlL]* | [0-9]+[uUlL]* )
  | (?P<name> [A-Za-z_]\w* )
  | (?P<operator> <<=|>>=|->|\+\+|--|<=|>=|==|!=|&&|\|\||<<|>>|[-+*/%&|^]=|\#\#|[^\s\w\\] )""",
                   re.X | re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.M | re.S)
MACRO = re.compile(r"#define (\w+)\(")
FUNCTION = re.compile(r"^[A-Za-z_][^\n;{}#=]*?(\w+)\([^;{}#]*\)\s*\n\{\n.*?^\}", re.M | re.S)

RELATIONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
             "==": ("!=",), "!=": ("==",)}
LOGIC = {"&&": "||", "||": "&&"}
TRUTH = {"true": "false", "false": "true"}
# What begins a statement that is not dropped: without it nothing compiles, or the fault is another
# kind's.
KEYWORDS = set("""return if for while do switch case default else break continue goto struct union enum const static
    unsigned""".split())
# Constants above that are limits of numbers, or times: one more or less is rarely a fault.
LARGEST = 64

Token = collections.namedtuple("Token", "kind text start end")
Region = collections.namedtuple("Region", "name first last")    # a function, or a macro; lines
Mutant = collections.namedtuple("Mutant", "file function before after kind line start end text")


def key(mutant):
    """What a verdict knows it by."""
    return mutant[:4]


def tokens_of(text):
    """
    The tokens in @text but for comments; none of directives, and macros without arguments, as they
    are not code.
    """
    dull = [(m.start(), m.end())
            for m in DIRECTIVE.finditer(text) if not MACRO.match(m.group().strip())]
    tokens = []
    for m in TOKEN.finditer(text):
        while dull and dull[0][1] <= m.start():
            dull.pop(0)
        if m.lastgroup != "comment" and not (dull and dull[0][0] <= m.start()):
            tokens.append(Token(m.lastgroup, m.group(), m.start(), m.end()))
    return tokens


def macros_of(text):
    """The macros with arguments and more than one line."""
    found = []
    for m in DIRECTIVE.finditer(text):
        name = MACRO.match(m.group())
        if name and "\n" in m.group():
            first = text.count("\n", 0, m.start()) + 1
            found.append(Region(name[1], first, first + m.group().count("\n")))
    return found


def functions_of(text):
    """The functions, laid out as in Linux: both braces stand at the beginning of a line."""
    found = []
    for m in FUNCTION.finditer(text):
        first = text.count("\n", 0, m.start()) + 1
        found.append(Region(m[1], first, first + m.group().count("\n")))
    return found


def closing(tokens, i):
    """The index of what closes the bracket @i."""
    depth = 0
    for j in range(i, len(tokens)):
        if tokens[j].text in "([{":
            depth += 1
        elif tokens[j].text in ")]}":
            depth -= 1
            if not depth:
                return j
    return None


def begins_statement(text, tokens, i):
    """Is @i the first token of a statement? Those in parentheses do not count."""
    if not i:
        return False
    before = tokens[i - 1]
    if before.text in (";", "{", "}", "else", "do"):
        return True
    if before.text == ":":
        line = text[text.rfind("\n", 0, before.start) + 1:before.end].strip()
        return bool(re.match(r"(case\b.*|\w+):$", line))
    if before.text != ")":
        return False
    depth = 0
    for j in range(i - 1, -1, -1):
        depth += (tokens[j].text == ")") - (tokens[j].text == "(")
        if not depth:
            return j > 0 and tokens[j - 1].text in ("if", "for", "while")
    return False


def statement_end(text, tokens, i):
    """
    The index of the semicolon of the expression that is the statement at @i; None if it is
    something else.
    """
    if tokens[i].kind != "name" and tokens[i].text not in ("*", "++", "--"):
        return None
    if tokens[i].text in KEYWORDS or not begins_statement(text, tokens, i):
        return None
    after = tokens[i + 1:i + 3]
    if tokens[i].kind == "name" and (after[0].kind == "name" or after[0].text in ("*", ":")):
        return None     # a declaration, a label
    if "for_each" in tokens[i].text:
        return None     # its end would be that of its body, or of what follows
    depth = 0
    for j in range(i, len(tokens)):
        depth += (tokens[j].text in ("(", "{", "[")) - (tokens[j].text in (")", "}", "]"))
        if depth < 0:
            return None
        if not depth and tokens[j].text == ";":
            return j if j > i + 1 else None
    return None


def one_more(number):
    """What a constant becomes."""
    digits = re.match(r"0[xX][0-9a-fA-F]+|[0-9]+", number)[0]
    value, suffix = int(digits, 0), number[len(digits):]
    if value > LARGEST:
        return []
    return [f"{value + d}{suffix}" for d in (1, -1) if value + d >= 0]


def changes_at(text, tokens, i):
    """
    (kind, first, end, replacement) of every mutant that begins at token @i, as places in @text.
    """
    t = tokens[i]
    if t.text in RELATIONS:
        yield from (("relation", t.start, t.end, other) for other in RELATIONS[t.text])
    elif t.text in LOGIC:
        yield "logic", t.start, t.end, LOGIC[t.text]
    elif t.kind == "number":
        yield from (("constant", t.start, t.end, other) for other in one_more(t.text))
    elif t.text == "[" and i and (tokens[i - 1].kind == "name" or tokens[i - 1].text in ("]", ")")):
        end = closing(tokens, i)
        if end:
            yield "index", tokens[end].start, tokens[end].start, " + 1"
    elif t.text == "if" and tokens[i + 1].text == "(":
        end = closing(tokens, i + 1)
        condition = text[tokens[i + 1].start:tokens[end].end] if end else ""
        if end and condition != "(0)":
            yield "negation", tokens[i + 1].start, tokens[end].end, f"(!{condition})"
    elif t.text == "return":
        value = [other.text for other in tokens[i + 1:i + 4]]
        if value[0] in TRUTH and value[1] == ";":
            yield "returned", tokens[i + 1].start, tokens[i + 1].end, TRUTH[value[0]]
        elif value[0] == "-" and value[1].isupper() and value[2] == ";":
            yield "returned", tokens[i + 1].start, tokens[i + 2].end, "0"
        elif value[0].isupper() and value[0] != "NULL" and value[1] == ";":
            yield "returned", tokens[i + 1].start, tokens[i + 1].end, "0"
    end = statement_end(text, tokens, i)
    if end:
        yield "dropped", t.start, tokens[end].end, ";"


def plain(text):
    """Lines as one, without what only lays them out."""
    return " ".join(re.sub(r"[ \t]*\\$", "", text, flags=re.M).split())


def mutants_of(file, text, regions):
    """
    All mutants of a file, in the order of its lines; @regions are its functions, and no others are
    looked at.
    """
    tokens, seen = tokens_of(text), collections.Counter()
    region_of = {line: region for region in regions
                 for line in range(region.first, region.last + 1)}
    for i, token in enumerate(tokens[:-3]):
        line = text.count("\n", 0, token.start) + 1
        if (line not in region_of
            or text[text.rfind("\n", 0, token.start) + 1:token.start].startswith("#define")):
            continue
        for kind, start, end, other in changes_at(text, tokens, i):
            first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
            before = plain(text[first:last])
            after = plain(text[first:start] + other + text[end:last])
            name = region_of[line].name
            seen[name, before, after] += 1
            if seen[name, before, after] > 1:
                name = f"{name}:{seen[name, before, after]}"
            yield Mutant(file, name, before, after, kind, line, start, end, other)


def applied(mutant, text):
    """The file with the fault; what is behind it stays in its line."""
    lines = "\n" * text.count("\n", mutant.start, mutant.end)
    return f"{text[:mutant.start]}{mutant.text}{lines}{text[mutant.end:]}"


def show(mutant):
    """As the file of verdicts has it."""
    return f"{mutant.file} {mutant.function}\n- {mutant.before}\n+ {mutant.after}\n"


def read_verdicts(path):
    """{key: (verdict, reason)}; verdict is empty where there is none."""
    found = {}
    with open(path, encoding="utf-8") as file:
        blocks = re.sub(r"^#.*\n", "", file.read(), flags=re.M).strip().split("\n\n")
    for block in filter(None, (b.strip() for b in blocks)):
        lines = block.splitlines()
        place, verdict = lines[0].split(" "), (lines[3:] or [""])[0].partition(": ")
        if (len(lines) not in (3, 4) or len(place) != 2 or lines[1][:2] != "- "
            or lines[2][:2] != "+ "):
            raise SystemExit(f"{path}: expected FILE FUNCTION, '- ' before, '+ ' after, 'VERDICT: reason':\n{block}")
        if verdict[0] not in ("", "equivalent", "accepted") or bool(verdict[0]) != bool(verdict[2]):
            raise SystemExit(f"{path}: expected 'equivalent: why' or 'accepted: why':\n{block}")
        found[place[0], place[1], lines[1][2:], lines[2][2:]] = verdict[0], verdict[2]
    return found

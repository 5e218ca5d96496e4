# SPDX-License-Identifier: GPL-2.0-only
"""Reads userspace/libinc/inc.h: what it says of itself, its sections, and of each the comments with
what is declared below them. For what makes documents of it."""
import os
import re
import textwrap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADER = os.path.join(TOP, "userspace/libinc/inc.h")
COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"
# A comment and what stands below it, up to an empty line; or a macro with a comment behind it.
PART = re.compile(rf"^({COMMENT})\n?((?:(?!/\*)[^\n]+\n(?:[ \t][^\n]*\n|\}};?[^\n]*\n)*)*)"
                  rf"|^(#define \w+)[^\n]*?({COMMENT})$", re.M)
MEMBER = re.compile(rf"({COMMENT})(?=\s*\n)|^\s*([^\n/;]+);[ \t]*({COMMENT})?", re.M)
SECTION = re.compile(r"/\* -+ (.*?) -+ \*/$")


class Member:
    def __init__(self, declaration, text):
        self.declaration = declaration
        self.text = text


class Item:
    """A comment, and what stands below it up to an empty line."""

    def __init__(self, text, code):
        self.text = text
        self.functions = [" ".join(f.split()) for f in
                          re.findall(r"^(?:const )?\w+ \**\w+\([^;{]*\);", code, re.M)]
        self.functions = [f.rstrip(";") for f in self.functions]
        self.macros = re.findall(r"^#define (\w+)", code, re.M)
        found = re.match(r"struct (\w+)(?: \{(.*)\})?;", code, re.S)
        self.struct = found and found.group(1)
        self.members = members_of(found.group(2)) if found and found.group(2) else []

    def names(self):
        return [name_of(f) for f in self.functions]


class Section:
    def __init__(self, title):
        self.title = title
        self.items = []


def name_of(function):
    return re.search(r"(\w+)\(", function).group(1)


def comment_text(comment):
    """Without the stars; tabs stay where they lead a line of a table."""
    first, *lines = comment.strip()[2:-2].split("\n")
    lines = [first.strip()] + [re.sub(r"^\s*\* ?", "", line).rstrip() for line in lines]
    return "\n".join(lines).strip("\n ")


def members_of(body):
    out, above = [], ""
    for comment, declaration, behind in MEMBER.findall(body):
        if declaration:
            text = comment_text(behind) if behind else above
            out.append(Member(" ".join(declaration.split()), text))
            above = ""
        else:
            above = comment_text(comment)
    return out


def read(path=HEADER):
    """(what stands on top, sections)"""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    source = source[source.index("*/") + 2:]
    top = re.match(r"\s*(/\*.*?\*/)", source, re.S)
    sections = [Section("Groups, operations, requests")]
    rest = source[top.end():]
    for found in PART.finditer(rest):
        comment, code, macro, text = found.groups()
        title = comment and SECTION.match(comment)
        if title:
            sections.append(Section(title.group(1)))
        elif macro:
            sections[-1].items.append(Item(comment_text(text), macro))
        elif code.strip():
            sections[-1].items.append(Item(comment_text(comment), code))
    return comment_text(top.group(1)), sections


def blocks(text):
    """(is it a table or program?, lines) of each block between empty lines."""
    for block in re.split(r"\n\s*\n", text):
        lines = block.split("\n")
        yield lines[0].startswith("\t"), [line.expandtabs(8) for line in lines]


def dedent(lines):
    return textwrap.dedent("\n".join(lines)).split("\n")

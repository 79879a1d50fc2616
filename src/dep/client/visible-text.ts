/** Bidirectional marks, joiners, tags: none can be seen, and some make a text read as another. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu;
const NOT_TEXT = /[\p{Cc}\p{Co}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/** On one line, and only what people can see; the database does not take some of the rest. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, '').replace(NOT_TEXT, ' ').trim();
}

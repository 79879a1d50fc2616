/** What may hold a semicolon or a comma without ending anything: quotes, dollar quotes, comments. */
const OPAQUE = /'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1|--[^\n]*|\/\*[\s\S]*?\*\//y;

/** The statements of a script in one line each, without comments; bodies of functions are left out. */
export function splitStatements(script: string): string[] {
  return splitAt(script, ';');
}

/** The parts of a list; commas in parentheses and quotes do not divide. */
export function splitList(list: string): string[] {
  return splitAt(list, ',');
}

function splitAt(text: string, separator: ';' | ','): string[] {
  const parts: string[] = [];
  let part = '';
  let depth = 0;
  for (let at = 0; at < text.length; ) {
    OPAQUE.lastIndex = at;
    const [opaque] = OPAQUE.exec(text) ?? [];
    if (opaque !== undefined) {
      part += shown(opaque);
      at += opaque.length;
      continue;
    }
    const sign = text.charAt(at);
    if (sign === '(') depth += 1;
    if (sign === ')') depth -= 1;
    if (sign === separator && depth === 0) {
      parts.push(part);
      part = '';
    } else part += sign;
    at += 1;
  }
  parts.push(part);
  return parts.map((one) => one.replace(/\s+/g, ' ').trim()).filter((one) => one !== '');
}

function shown(opaque: string): string {
  if (opaque.startsWith('--') || opaque.startsWith('/*')) return ' ';
  return opaque.startsWith('$') ? "''" : opaque;
}

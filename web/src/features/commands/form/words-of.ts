/** Names that are written as one word. */
const WHOLE = [
  'iTunes',
  'eSIM',
  'iOS',
  'macOS',
  'FileVault',
  'NSExtension',
  'WiFi',
  'IPv6',
  'AppleCare',
];
const WORD = new RegExp(
  `${WHOLE.join('|')}|[A-Z]+(?=[A-Z][a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9 ]+`,
  'g',
);

/** Apple's name of a key in words: `RebuildKernelCache` becomes `Rebuild kernel cache`. */
export function wordsOf(name: string): string {
  const words = (name.replaceAll('_', ' ').match(WORD) ?? [name]).map((word) =>
    /^[A-Z][a-z]+$/.test(word) ? word.toLowerCase() : word,
  );
  const [first = '', ...rest] = words;
  const isFixed = WHOLE.includes(first);
  return [isFixed ? first : first.charAt(0).toUpperCase() + first.slice(1), ...rest].join(' ');
}

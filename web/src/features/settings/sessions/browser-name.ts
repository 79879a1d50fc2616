const BROWSERS: [pattern: RegExp, name: string][] = [
  [/HeadlessChrome/, 'Chrome'],
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
  [/curl\//, 'curl'],
];

const SYSTEMS: [pattern: RegExp, name: string][] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Windows/, 'Windows'],
  [/Linux|X11/, 'Linux'],
];

/** "Safari on macOS"; undefined for what is not known. */
export function browserName(userAgent: string | null | undefined): string | undefined {
  if (userAgent === null || userAgent === undefined || userAgent === '') return undefined;
  const browser = nameIn(BROWSERS, userAgent);
  const system = nameIn(SYSTEMS, userAgent);
  if (browser === undefined) return system;
  return system === undefined ? browser : `${browser} on ${system}`;
}

function nameIn(known: [pattern: RegExp, name: string][], text: string): string | undefined {
  return known.find(([pattern]) => pattern.test(text))?.[1];
}

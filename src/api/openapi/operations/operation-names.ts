/** `available_os_updates` and `/dep/accounts` in the way of the names of functions. */
export function camelCase(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** One of what `name` is the plural of. */
export function singular(name: string): string {
  return name.replace(/ies$/, 'y').replace(/(?<=ss|tus|x|ch|sh)es$|s$/, '');
}

/** `available_os_updates` for people to read. */
export function words(name: string): string {
  return name
    .replaceAll('_', ' ')
    .replace(/\bos\b/, 'OS')
    .replace(/\bdep\b/, 'DEP')
    .replace(/\brsa\b/, 'RSA')
    .replace(/\bssl\b/, 'SSL')
    .replace(/\bca\b/, 'CA')
    .replace(/\bscep\b/, 'SCEP');
}

/** With its article. */
export function one(name: string): string {
  const text = words(singular(name));
  return `${/^([aeio]|RSA|SSL|SCEP)/.test(text) ? 'an' : 'a'} ${text}`;
}

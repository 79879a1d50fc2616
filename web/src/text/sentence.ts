/** `no_push_certificate` reads "No push certificate". */
export function sentenceOf(code: string): string {
  const said = code.replaceAll('_', ' ').replace(/\b(dep|ssl)\b/, (word) => word.toUpperCase());
  return said.charAt(0).toUpperCase() + said.slice(1);
}

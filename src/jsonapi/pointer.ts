/** JSON pointer (RFC 6901) of the given steps. */
export function pointer(...steps: (string | number)[]): string {
  const escape = (step: string | number) =>
    String(step).replaceAll('~', '~0').replaceAll('/', '~1');
  return steps.map((step) => `/${escape(step)}`).join('');
}

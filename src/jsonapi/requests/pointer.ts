/** JSON pointer (RFC 6901) of the given steps. */
export function pointer(...steps: (string | number)[]): string {
  return steps.map((step) => `/${escaped(String(step))}`).join('');
}

function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** An answer other than 200, in Apple's words, which stand alone in the body. */
export class DepRefusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(code);
    this.name = 'ProgramRefusal';
  }
}

export function malformed(): DepRefusal {
  return new DepRefusal(400, 'MALFORMED_REQUEST_BODY');
}

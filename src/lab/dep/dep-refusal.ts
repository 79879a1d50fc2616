/** An answer other than 200, in Apple's words, which stand alone in the body. */
export class ProgramRefusal extends Error {
  constructor(
    readonly status: number,
    readonly words: string,
  ) {
    super(words);
    this.name = 'ProgramRefusal';
  }
}

export function malformed(): ProgramRefusal {
  return new ProgramRefusal(400, 'MALFORMED_REQUEST_BODY');
}

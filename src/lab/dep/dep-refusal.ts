/** An answer other than 200; the body is Apple's error code alone. */
export class DepRefusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(code);
    this.name = 'DepRefusal';
  }
}

export function malformed(): DepRefusal {
  return new DepRefusal(400, 'MALFORMED_REQUEST_BODY');
}

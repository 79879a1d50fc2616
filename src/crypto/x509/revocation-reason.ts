/** CRLReason (RFC 5280 5.3.1) by name. */
const codes = {
  unspecified: 0,
  keyCompromise: 1,
  cACompromise: 2,
  affiliationChanged: 3,
  superseded: 4,
  cessationOfOperation: 5,
  certificateHold: 6,
  removeFromCRL: 8,
  privilegeWithdrawn: 9,
  aACompromise: 10,
} as const;

export type RevocationReason = keyof typeof codes;

const names = new Map(Object.entries(codes).map(([name, code]) => [code as number, name]));

/** The number of a reason on the wire. */
export function reasonCode(reason: RevocationReason): number {
  return codes[reason];
}

/** The reason of a number; undefined for one that the standard does not name. */
export function reasonOf(code: number): RevocationReason | undefined {
  return names.get(code) as RevocationReason | undefined;
}

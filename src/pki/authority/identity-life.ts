/** From when on an identity is to be renewed: a third of its life is left then. */
export function renewalTime({ notBefore, notAfter }: { notBefore: Date; notAfter: Date }): Date {
  const life = notAfter.getTime() - notBefore.getTime();
  return new Date(notAfter.getTime() - life / 3);
}

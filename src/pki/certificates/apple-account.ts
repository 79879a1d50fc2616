const ADDRESS = /^[^\s@]+@[^\s@]+$/;
const PHONE_NUMBER = /^\+?[\d(][\d ().-]*\d$/;
const FEWEST_DIGITS = 5;

/** Why the text can't name an Apple Account; undefined when it can. */
export function appleAccountFault(text: string): string | undefined {
  if (ADDRESS.test(text)) return undefined;
  const digits = text.replace(/\D/g, '').length;
  if (PHONE_NUMBER.test(text) && digits >= FEWEST_DIGITS) return undefined;
  return 'must be an e-mail address or a phone number';
}

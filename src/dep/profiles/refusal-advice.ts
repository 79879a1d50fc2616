/** What to do about what Apple's service finds fault with in a definition. */
const ADVICE: Record<string, string> = {
  CONFIG_NAME_REQUIRED: 'Give the profile a profile_name.',
  CONFIG_NAME_INVALID: 'Shorten profile_name to 125 characters.',
  CONFIG_URL_REQUIRED: 'Give the profile a url, or null for the one of this server.',
  CONFIG_URL_INVALID:
    'Apple takes https URLs only: set PUBLIC_URL to the https URL of this server, or url to another.',
  MAGIC_INVALID: 'Shorten org_magic to 256 characters.',
  FLAGS_INVALID: 'is_mdm_removable false goes only with is_supervised true.',
  DEPARTMENT_INVALID: 'Shorten department to 125 characters.',
  SUPPORT_PHONE_INVALID: 'Shorten support_phone_number to 50 characters.',
  LOCALE_INVALID: 'Give language as a code like en, and region as one like US.',
  SUPPORT_EMAIL_INVALID:
    'Give an email address of at most 250 characters in support_email_address.',
};

const OTHERWISE = 'Change what Apple names; saving the profile sends it to Apple again.';

/** For Apple's words, whatever is around the one that tells. */
export function refusalAdvice(text: string): string {
  const word = Object.keys(ADVICE).find((name) => text.includes(name));
  return (word && ADVICE[word]) ?? OTHERWISE;
}

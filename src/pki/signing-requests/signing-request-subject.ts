import type { NameAttribute } from '../../crypto/x509/names.js';
import { parseDistinguishedName } from '../../crypto/x509/parse-distinguished-name.js';
import { AppError, type ErrorDetail } from '../../errors.js';
import { attributeFault } from '../certificates/attribute-refusal.js';

const MAX_COMMON_NAME_LENGTH = 64;

/** The API attributes that make up a subject, with their RFC 4514 types: least specific first. */
const PARTS = {
  x509_c: 'C',
  x509_st: 'ST',
  x509_l: 'L',
  x509_o: 'O',
  x509_ou: 'OU',
  x509_cn: 'CN',
  email: 'emailAddress',
} as const;

type Part = keyof typeof PARTS;

export interface SubjectInput extends Partial<Record<Part, string | null>> {
  /** RFC 4514, or OpenSSL's form with slashes. */
  subject?: string;
}

const partNames = Object.keys(PARTS) as Part[];

export function hasParts(input: SubjectInput): boolean {
  return partNames.some((name) => isPresent(input[name]));
}

/** The requested subject, from its text or its parts. Adds its faults to `faults`. */
export function readSubject(input: SubjectInput, faults: ErrorDetail[]): NameAttribute[] {
  if (hasParts(input)) return partsOf(input, faults);
  try {
    const subject = parseDistinguishedName(input.subject ?? '');
    faults.push(...nameFaults(subject).map((fault) => attributeFault('subject', fault)));
    return subject;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    faults.push(attributeFault('subject', `subject: ${error.message}`));
    return [];
  }
}

function isPresent(text: string | null | undefined): text is string {
  return typeof text === 'string';
}

function partsOf(input: SubjectInput, faults: ErrorDetail[]): NameAttribute[] {
  return partNames.flatMap((name) => {
    const text = input[name];
    if (!isPresent(text)) return [];
    const value = text.trim();
    if (value === '') faults.push(attributeFault(name, `${name} is empty`));
    return [{ type: PARTS[name], value }];
  });
}

/** The bounds of X.520 and RFC 5280 appendix A, which CAs enforce. */
function nameFaults(subject: NameAttribute[]): string[] {
  return subject.flatMap(({ type, value }) => {
    if (type === 'C' && !/^[A-Za-z]{2}$/.test(value)) {
      return ['subject: the country (C) must be 2 letters'];
    }
    if (type !== 'CN' || [...value].length <= MAX_COMMON_NAME_LENGTH) return [];
    return [`subject: the common name (CN) has at most ${MAX_COMMON_NAME_LENGTH} characters`];
  });
}

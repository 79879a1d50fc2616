import { z } from 'zod';
import {
  type Attribute,
  bool,
  integer,
  json,
  oneOf,
  text,
  timestamp,
  url,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import type { SingletonDefinition } from '../../jsonapi/operations/singleton.js';
import { adminSettings } from '../common.js';

const SOURCE_TYPES = ['InternalSCEP', 'ExternalSCEP', 'InternalPKCS12'] as const;
/** What the sealed challenge is bound to; the enrollment profile opens it. */
const CHALLENGE_IDENTITY = 'scep_configurations/challenge';
const DAY_SECONDS = 86_400;
/** Apple's short names for the subject, and object identifiers; a comma parts none of them. */
const RDN = String.raw`(?:C|L|ST|O|OU|CN|\d+(?:\.\d+)+)=`;
const SUBJECT = new RegExp(String.raw`^(?!.*,\s*${RDN})(?:(?:^\/?|\/)${RDN}[^/]+)+$`);
const SUBJECT_LIKE =
  'parts of C, L, ST, O, OU, CN or object identifiers behind slashes: O=Example/CN=%HardwareUUID%';
/** MD5 or SHA-1 in hexadecimal, in groups or whole: the payload's CAFingerprint. */
const FINGERPRINT = /^[\s:]*(?:(?:[0-9A-Fa-f][\s:]*){32}|(?:[0-9A-Fa-f][\s:]*){40})$/;
const FINGERPRINT_FAULT = {
  error: 'must be a SHA-1 or MD5 digest in hexadecimal, which is what devices compare',
};

/** Front ends send numbers of forms as text. */
function digits(attribute: Attribute): Attribute {
  const read = (value: unknown) =>
    typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return { ...attribute, schema: z.preprocess(read, attribute.schema) };
}

function oneOfNumbers(values: readonly number[], explanation: string): Attribute {
  const error = `must be ${values.join(' or ')}${explanation}`;
  return digits({ ...integer(), schema: z.literal(values, { error }).meta({ type: 'integer' }) });
}

const sourceType: Attribute = {
  ...oneOf(SOURCE_TYPES),
  schema: z.enum(SOURCE_TYPES).refine((name) => name !== 'InternalPKCS12', {
    error: 'must be InternalSCEP or ExternalSCEP: identities as PKCS#12 are not offered',
  }),
};

/** Anyone who enrolls could read a password in it. */
function isWithoutUser(given: unknown): boolean {
  const { username = '', password = '' } = URL.parse(String(given)) ?? {};
  return username === '' && password === '';
}

const own = url({ derivedFrom: ['url'] });
const address: Attribute = {
  ...own,
  schema: own.schema.refine(isWithoutUser, { error: 'must be without a user and password' }),
};

const fingerprint: Attribute = {
  ...text(),
  schema: z
    .string()
    .max(200)
    .regex(FINGERPRINT, FINGERPRINT_FAULT)
    .transform((given) => given.replace(/[\s:]/g, '').toLowerCase()),
};

const alternativeName = z.string().min(1).max(1000);
const names = z.union([alternativeName, z.array(alternativeName).min(1).max(20)]);
const subjectAltName: Attribute = {
  ...json(),
  schema: z.strictObject({
    rfc822Name: names.optional(),
    dNSName: names.optional(),
    uniformResourceIdentifier: names.optional(),
    ntPrincipalName: alternativeName.optional(),
  }),
};

export interface ScepServices {
  /** `ownUrl`: this server's own SCEP, as devices reach it. */
  scep: { ownUrl: string };
  /** `seal`: encrypts a secret for the place that the label names. */
  secrets: { seal(secret: string, label: string): Buffer };
}

function sealed(challenge: unknown, { secrets }: ScepServices): Buffer | null {
  return typeof challenge === 'string' ? secrets.seal(challenge, CHALLENGE_IDENTITY) : null;
}

/** How devices get the certificate they identify themselves with. */
export const scepConfiguration: SingletonDefinition<ScepServices> = {
  ...defineResource<ScepServices>({
    type: 'scep_configurations',
    path: '/configuration/scep',
    table: 'scep_configurations',
    access: adminSettings,
    attributes: {
      source_type: sourceType,
      url: address,
      challenge_enabled: bool(),
      challenge: text({
        writeOnly: true,
        derivedFrom: ['sealed_challenge'],
        min: 1,
        max: 1000,
      }),
      ca_fingerprint: fingerprint,
      subject: text({ max: 1000, pattern: SUBJECT, like: SUBJECT_LIKE }),
      key_size: oneOfNumbers([2048, 4096], ' (shorter keys are too weak)'),
      key_type: text({ write: 'never' }),
      key_usage: oneOfNumbers([1, 4, 5], ' (signing, encryption, both)'),
      subject_alt_name: subjectAltName,
      retries: digits(integer({ min: 0, max: 1000 })),
      retry_delay: digits(integer({ min: 0, max: DAY_SECONDS })),
      certificate_renewal_time_interval: digits(integer({ min: 1, max: 365 })),
      updated_at: timestamp({ write: 'never' }),
    },
    relationships: {},
    derive: (_name, row, { services }) => row.url ?? services.scep.ownUrl,
  }),
  columnsOf: ({ challenge, ...attributes }, services) => {
    const columns: Record<string, unknown> = { ...attributes };
    // Null stands for this server's URL, so that it stays right when PUBLIC_URL changes.
    if (attributes.url === services.scep.ownUrl) columns.url = null;
    if (challenge !== undefined) columns.sealed_challenge = sealed(challenge, services);
    return columns;
  },
  faultsOf: ({ source_type, url: given }) =>
    source_type === 'ExternalSCEP' && given === null
      ? { url: 'an external CA needs the URL of its SCEP server' }
      : {},
};

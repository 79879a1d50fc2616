import type { GeneralName } from '../../crypto/x509/certificate.js';
import { type NameAttribute, nameType } from '../../crypto/x509/names.js';
import type { OrganizationRow, ScepConfigurationRow } from '../../db/admin/settings-repository.js';

/** The settings that determine the names of identities. */
export interface IdentityNameSettings {
  organization: Pick<OrganizationRow, 'name' | 'x509_c' | 'x509_st' | 'x509_o' | 'x509_ou'>;
  scep: Pick<ScepConfigurationRow, 'subject' | 'subject_alt_name'>;
}

/** The facts that a request has proven about the device or person of its certificate. */
export interface ProvenFacts {
  udid?: string | null | undefined;
  serialNumber?: string | null | undefined;
  account?: string | null | undefined;
}

export interface IdentityName {
  /** Least specific attribute first. */
  subject: NameAttribute[];
  subjectAltName: GeneralName[];
}

/** A variable of Apple's SCEP payload, or text of that form. */
const VARIABLE = /%(\w+)%/g;

/** `O=Example/CN=%HardwareUUID%` as attributes; built from the organization if none is set. */
export function subjectTemplate({ organization, scep }: IdentityNameSettings): NameAttribute[] {
  if (scep.subject !== null) return scep.subject.split('/').flatMap(templateAttribute);
  const { x509_c, x509_st, x509_o, x509_ou, name } = organization;
  const attributes: [string, string | null][] = [
    ['C', x509_c],
    ['ST', x509_st],
    ['O', x509_o ?? name],
    ['OU', x509_ou],
    ['CN', '%HardwareUUID%'],
  ];
  return attributes.flatMap(([type, value]) => (value === null ? [] : [{ type, value }]));
}

/**
 * The names of an identity: the template of the settings with the facts as its variables. The names
 * in the request are ignored. An attribute or alternative name with an unknown variable is left
 * out; a common name with one becomes the challenge's id. If any attribute was left out and no
 * common name remains, the challenge's id is added as common name.
 */
export function identityName(
  settings: IdentityNameSettings,
  facts: ProvenFacts,
  challengeId: string,
): IdentityName {
  const template = subjectTemplate(settings).filter(({ type }) => nameType(type) !== undefined);
  const subject = template.flatMap(({ type, value }) => {
    const filled = fill(value, facts) ?? (isCommonName(type) ? challengeId : undefined);
    return filled === undefined ? [] : [{ type, value: filled }];
  });
  const hasName = subject.length > 0 && subject.length === template.length;
  if (!hasName && !subject.some(({ type }) => isCommonName(type))) {
    subject.push({ type: 'CN', value: challengeId });
  }
  return { subject, subjectAltName: alternativeNames(settings, facts) };
}

const KINDS = [
  ['rfc822Name', 'email'],
  ['dNSName', 'dns'],
  ['uniformResourceIdentifier', 'uri'],
  ['ntPrincipalName', 'upn'],
] as const;

function templateAttribute(part: string): NameAttribute[] {
  const at = part.indexOf('=');
  return at < 0 ? [] : [{ type: part.slice(0, at), value: part.slice(at + 1) }];
}

/** Undefined when a variable is unknown. */
function fill(text: string, { udid, serialNumber, account }: ProvenFacts): string | undefined {
  const values = new Map([
    ['HardwareUUID', udid],
    ['SerialNumber', serialNumber],
    ['Account', account],
  ]);
  let isKnown = true;
  const filled = text.replaceAll(VARIABLE, (_variable, name: string) => {
    const value = values.get(name) ?? '';
    isKnown &&= value !== '';
    return value;
  });
  return isKnown && filled !== '' ? filled : undefined;
}

function isCommonName(type: string): boolean {
  return nameType(type) === 'CN';
}

function alternativeNames({ scep }: IdentityNameSettings, facts: ProvenFacts): GeneralName[] {
  return KINDS.flatMap(([key, type]) => {
    const given = [scep.subject_alt_name?.[key]].flat();
    const values = given.map((text) => (typeof text === 'string' ? fill(text, facts) : undefined));
    return values
      .filter((value) => value !== undefined)
      .filter((value) => fits(type, value))
      .map((value) => ({ type, value }));
  });
}

/** All but the principal name are ASCII (RFC 5280 4.2.1.6). */
function fits(type: GeneralName['type'], value: string): boolean {
  return type === 'upn' || /^[\x21-\x7e]+$/.test(value);
}

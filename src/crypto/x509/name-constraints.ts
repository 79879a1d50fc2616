import {
  type Asn1Element,
  contextTag,
  invalidAsn1,
  primitiveContextTag,
  readDer,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { canonicalName, isWithinName } from './name-matching.js';
import type { ParsedCertificate } from './parse-certificate.js';

const MAX_SUBTREES = 64;
const MAX_NAMES = 1024;

/** The forms of GeneralName that are judged; a certificate with another one under test fails. */
const EMAIL = primitiveContextTag(1);
const DNS = primitiveContextTag(2);
const DIRECTORY = contextTag(4);

interface ConstrainedName {
  /** The context tag of the form of name. */
  tag: number;
  /** The name's own bytes; the DER of the Name for a directory name. */
  content: Buffer;
}

interface NameConstraints {
  permitted: ConstrainedName[];
  excluded: ConstrainedName[];
}

/**
 * Whether the issuer's name constraints (RFC 5280 4.2.1.10) allow the names of a certificate below
 * it. DNS and directory names are judged; a name of another form that is constrained is refused.
 * Without the extension everything is allowed.
 */
export function permitsNames(issuer: ParsedCertificate, certificate: ParsedCertificate): boolean {
  const extension = issuer.extensions.get(Oid.nameConstraints);
  if (extension === undefined) return true;
  try {
    const constraints = readNameConstraints(extension.value);
    return namesOf(certificate).every((name) => isPermitted(name, constraints));
  } catch {
    return false;
  }
}

function readNameConstraints(value: Buffer): NameConstraints {
  const members = readDer(value).sequence();
  const permitted = readSubtrees(members.optional(contextTag(0)));
  const excluded = readSubtrees(members.optional(contextTag(1)));
  members.finish();
  return { permitted, excluded };
}

function readSubtrees(element: Asn1Element | undefined): ConstrainedName[] {
  const bases: ConstrainedName[] = [];
  const members = element?.children();
  while (members !== undefined && !members.done) {
    const subtree = members.sequence();
    bases.push(nameOf(subtree.next()));
    // RFC 5280 4.2.1.10: minimum and maximum are not used.
    subtree.finish();
    if (bases.length > MAX_SUBTREES) throw invalidAsn1('too many name constraints');
  }
  return bases;
}

function nameOf({ tag, content }: Asn1Element): ConstrainedName {
  return { tag, content };
}

function namesOf(certificate: ParsedCertificate): ConstrainedName[] {
  const { subjectRaw } = certificate;
  const names = alternativeNames(certificate);
  const rdns = canonicalName(subjectRaw);
  if (rdns.length > 0) names.push({ tag: DIRECTORY, content: subjectRaw });
  // RFC 5280 4.2.1.10: constraints on e-mail addresses hold for those in the subject too.
  const hasEmail = rdns.some((rdn) => rdn.includes(`"${Oid.emailAddress}"`));
  if (hasEmail) names.push({ tag: EMAIL, content: Buffer.alloc(0) });
  return names;
}

function alternativeNames({ extensions }: ParsedCertificate): ConstrainedName[] {
  const extension = extensions.get(Oid.subjectAltName);
  const members = extension && readDer(extension.value).sequence();
  const names: ConstrainedName[] = [];
  while (members !== undefined && !members.done) {
    names.push(nameOf(members.next()));
    if (names.length > MAX_NAMES) throw invalidAsn1('too many names');
  }
  return names;
}

function isPermitted(name: ConstrainedName, { permitted, excluded }: NameConstraints): boolean {
  const sameForm = ({ tag }: ConstrainedName): boolean => tag === name.tag;
  const [bases, banned] = [permitted.filter(sameForm), excluded.filter(sameForm)];
  if (banned.some((base) => isWithin(name, base) !== false)) return false;
  return bases.length === 0 || bases.some((base) => isWithin(name, base) === true);
}

/** Undefined when the form of name is not judged here. */
function isWithin(name: ConstrainedName, base: ConstrainedName): boolean | undefined {
  if (name.tag === DIRECTORY) {
    return isWithinName(canonicalName(name.content), canonicalName(base.content));
  }
  if (name.tag !== DNS) return undefined;
  const [text, domain] = [name.content, base.content].map((bytes) =>
    bytes.toString('latin1').toLowerCase(),
  );
  return isWithinDomain(text ?? '', domain ?? '');
}

function isWithinDomain(name: string, base: string): boolean {
  if (base === '' || name === base) return true;
  return name.endsWith(base.startsWith('.') ? base : `.${base}`);
}

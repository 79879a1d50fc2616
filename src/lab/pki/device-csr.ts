import forge from 'node-forge';
import type { KeyPair } from '../../crypto/keys/keys.js';
import { localHostName, type SimulatedDevice } from '../devices/simulated-device.js';
import type { ScepSettings } from '../enrollment/enrollment-profile.js';
import { context, type Node, oid, sequence, toBinary, utf8, writeNode } from './asn1.js';
import { signStructure, toForgeKey } from './forge-key.js';

/** Attribute names in a SCEP payload's Subject; others are written as object identifiers. */
const NAME_OIDS = new Map([
  ['CN', '2.5.4.3'],
  ['SN', '2.5.4.4'],
  ['SERIALNUMBER', '2.5.4.5'],
  ['C', '2.5.4.6'],
  ['L', '2.5.4.7'],
  ['ST', '2.5.4.8'],
  ['STREET', '2.5.4.9'],
  ['O', '2.5.4.10'],
  ['OU', '2.5.4.11'],
  ['T', '2.5.4.12'],
  ['GN', '2.5.4.42'],
  ['UID', '0.9.2342.19200300.100.1.1'],
  ['DC', '0.9.2342.19200300.100.1.25'],
  ['E', '1.2.840.113549.1.9.1'],
  ['emailAddress', '1.2.840.113549.1.9.1'],
]);
const IA5_NAMES = new Set(['DC', 'E', 'emailAddress']);
const PRINTABLE_NAMES = new Set(['C', 'SERIALNUMBER']);

/** Microsoft's userPrincipalName, an otherName. */
const UPN = '1.3.6.1.4.1.311.20.2.3';
/** Tags of GeneralName (RFC 5280 4.2.1.6). */
const GeneralName = { other: 0, email: 1, dns: 2, uri: 6 } as const;

/** Bits of Key Usage in a SCEP payload. */
const SIGNING = 1;
const ENCRYPTION = 4;

/** The certification request (RFC 2986) that the profile describes. Returns DER. */
export function buildDeviceCsr(
  scep: ScepSettings,
  device: SimulatedDevice,
  { publicKey, privateKey }: KeyPair,
): Buffer {
  const csr = forge.pki.createCertificationRequest();
  csr.publicKey = toForgeKey(publicKey);
  csr.setSubject(subjectOf(scep, device));
  const extensions = extensionsOf(scep, device);
  csr.setAttributes([
    ...(scep.challenge === undefined ? [] : [{ name: 'challengePassword', value: scep.challenge }]),
    ...(extensions.length === 0 ? [] : [{ name: 'extensionRequest', extensions }]),
  ]);
  signStructure(csr, privateKey);
  return writeNode(forge.pki.certificationRequestToAsn1(csr));
}

function subjectOf(scep: ScepSettings, device: SimulatedDevice): forge.pki.CertificateField[] {
  return (scep.subject ?? []).flat().map(([type, value]) => ({
    type: NAME_OIDS.get(type) ?? type,
    value: expand(value, device),
    valueTagClass: stringType(type) as unknown as forge.asn1.Class,
  }));
}

function stringType(name: string): forge.asn1.Type {
  const { Type } = forge.asn1;
  if (IA5_NAMES.has(name)) return Type.IA5STRING;
  return PRINTABLE_NAMES.has(name) ? Type.PRINTABLESTRING : Type.UTF8;
}

function extensionsOf(scep: ScepSettings, device: SimulatedDevice): object[] {
  const names = namesOf(scep, device);
  const digitalSignature = (scep.keyUsage & SIGNING) === SIGNING;
  const keyEncipherment = (scep.keyUsage & ENCRYPTION) === ENCRYPTION;
  const keyUsage = { name: 'keyUsage', critical: true, digitalSignature, keyEncipherment };
  const value = toBinary(writeNode(sequence(...names)));
  return [
    ...(names.length === 0 ? [] : [{ name: 'subjectAltName', value }]),
    ...(digitalSignature || keyEncipherment ? [keyUsage] : []),
  ];
}

function namesOf({ subjectAltName }: ScepSettings, device: SimulatedDevice): Node[] {
  const expanded = (value: string | string[] | undefined) =>
    [value ?? []].flat().map((name) => expand(name, device));
  const named = (tag: number, value: string | string[] | undefined) =>
    expanded(value).map((name) => context(tag, toBinary(Buffer.from(name))));
  return [
    ...named(GeneralName.email, subjectAltName?.rfc822Name),
    ...named(GeneralName.dns, subjectAltName?.dNSName),
    ...named(GeneralName.uri, subjectAltName?.uniformResourceIdentifier),
    ...expanded(subjectAltName?.ntPrincipalName).map((name) =>
      context(GeneralName.other, [oid(UPN), context(0, [utf8(name)])]),
    ),
  ];
}

// What `mdmclient dumpSCEPVars` lists on a Mac that is bound to no directory.
const VARIABLES = new Map<string, (device: SimulatedDevice) => string>([
  ['ComputerName', ({ deviceName }) => deviceName],
  ['HardwareUUID', ({ identity, enrollmentId }) => enrollmentId ?? identity.udid],
  ['HostName', ({ hostName }) => hostName],
  ['LocalHostName', localHostName],
  ['MACAddress', ({ identity }) => identity.ethernetMac],
  ['SerialNumber', ({ identity, enrollmentId }) => (enrollmentId ? '' : identity.serialNumber)],
]);

/** Only a Mac fills in variables: an iPhone asks for a certificate named `%HardwareUUID%`. */
function expand(text: string, device: SimulatedDevice): string {
  if (device.identity.platform !== 'macOS') return text;
  return text.replaceAll(
    /%(\w+)%/g,
    (variable, name: string) => VARIABLES.get(name)?.(device) ?? variable,
  );
}

import type { KeyPair } from '../../crypto/keys/keys.js';
import type { GeneralName, KeyUsage } from '../../crypto/x509/certificate.js';
import { buildCsr } from '../../crypto/x509/csr.js';
import type { NameAttribute } from '../../crypto/x509/names.js';
import { localHostName, type SimulatedDevice } from '../devices/simulated-device.js';
import type { ScepSettings } from '../enrollment/enrollment-profile.js';

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

function subjectOf(scep: ScepSettings, device: SimulatedDevice): NameAttribute[] {
  return (scep.subject ?? []).flat().map(([type, value]) => ({
    type,
    value: expand(value, device),
  }));
}

function namesOf({ subjectAltName }: ScepSettings, device: SimulatedDevice): GeneralName[] {
  const all = (type: GeneralName['type'], value: string | string[] | undefined): GeneralName[] =>
    [value ?? []].flat().map((name) => ({ type, value: expand(name, device) }));
  return [
    ...all('email', subjectAltName?.rfc822Name),
    ...all('dns', subjectAltName?.dNSName),
    ...all('uri', subjectAltName?.uniformResourceIdentifier),
    ...all('upn', subjectAltName?.ntPrincipalName),
  ];
}

const SIGNING = 1;
const ENCRYPTION = 4;

function usagesOf({ keyUsage }: ScepSettings): KeyUsage[] {
  return [
    ...((keyUsage & SIGNING) === SIGNING ? (['digitalSignature'] as const) : []),
    ...((keyUsage & ENCRYPTION) === ENCRYPTION ? (['keyEncipherment'] as const) : []),
  ];
}

/** The certification request that the profile describes. Returns DER. */
export function buildDeviceCsr(
  scep: ScepSettings,
  device: SimulatedDevice,
  { publicKey, privateKey }: KeyPair,
): Buffer {
  const names = namesOf(scep, device);
  const usages = usagesOf(scep);
  return buildCsr({
    subject: subjectOf(scep, device),
    publicKey,
    privateKey,
    ...(scep.challenge === undefined ? {} : { challengePassword: scep.challenge }),
    ...(names.length === 0 ? {} : { subjectAltName: names }),
    ...(usages.length === 0 ? {} : { keyUsage: usages }),
  });
}

import type { GeneralName, KeyUsage } from '../crypto/certificate.js';
import { buildCsr } from '../crypto/csr.js';
import type { KeyPair } from '../crypto/keys.js';
import type { NameAttribute } from '../crypto/names.js';
import type { ScepSettings } from './enrollment-profile.js';
import type { SimulatedDevice } from './simulated-device.js';

/** Only a Mac fills in variables such as %ComputerName%. */
function expand(text: string, { identity, deviceName }: SimulatedDevice): string {
  if (identity.platform !== 'macOS') return text;
  const values: Record<string, string> = {
    ComputerName: deviceName,
    SerialNumber: identity.serialNumber,
    HardwareUUID: identity.udid,
  };
  return text.replaceAll(/%(\w+)%/g, (variable, name: string) => values[name] ?? variable);
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

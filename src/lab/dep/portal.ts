import { decodePemBlock, isPem } from '../../crypto/asn1/pem.js';
import type { ContentAlgorithm } from '../../crypto/cms/cms-enveloped-data.js';
import { parseCertificate } from '../../crypto/x509/certificate.js';
import { ControlFault } from '../wire/control-http.js';
import { type DeviceFamily, listedDevice } from './dep-device.js';

import type { MdmServer } from './mdm-server.js';
import type { Organization } from './organization.js';
import { type ServerToken, type ServerTokens, sealToken } from './server-tokens.js';

export interface TokenOptions {
  /** Name of the server; a usual one when absent. */
  server?: string | undefined;
  /** Seconds until the token expires, a year when absent; negative ones make an expired token. */
  expiresIn?: number | undefined;
  algorithm?: ContentAlgorithm | undefined;
}

export interface NewDevices {
  /** iPhone when absent. */
  family?: DeviceFamily | undefined;
  count?: number | undefined;
  serialNumbers?: readonly string[] | undefined;
}

/** What Apple tells a device that is being set up. */
export interface DeviceActivation {
  device: Record<string, string>;
  profile: Readonly<Record<string, unknown>>;
}

export const USUAL_SERVER = 'Muster';
const LONGEST_NAME = 100;
const YEAR_S = 365 * 86_400;

function readCertificate(bytes: Buffer) {
  try {
    return parseCertificate(isPem(bytes) ? decodePemBlock(bytes.toString(), 'CERTIFICATE') : bytes);
  } catch (cause) {
    throw new ControlFault(400, `the body is no certificate: ${(cause as Error).message}`);
  }
}

/** What an administrator does at Apple's website, and a device where it is being set up. */
export class Portal {
  constructor(
    private readonly organization: Organization,
    private readonly tokens: ServerTokens,
  ) {}

  server(name = USUAL_SERVER): MdmServer {
    const length = Buffer.byteLength(name);
    if (length === 0 || length > LONGEST_NAME) {
      throw new ControlFault(400, `server needs 1 to ${LONGEST_NAME} bytes`);
    }
    return this.organization.server(name);
  }

  /** A new one, which ends the former token of the server. */
  issueToken({ server: name, expiresIn = YEAR_S }: TokenOptions = {}): ServerToken {
    const server = this.server(name);
    const issuedAt = Math.max(Date.now(), server.tokenIssuedAt + 1);
    server.tokenIssuedAt = issuedAt;
    this.organization.changed();
    return this.tokens.issue(server.name, { issuedAt, expiresAt: Date.now() + expiresIn * 1000 });
  }

  /** The file that one uploads to the server whose certificate it is (PEM or DER). */
  issueTokenFile(certificate: Buffer, options: TokenOptions = {}): Buffer {
    const recipient = readCertificate(certificate);
    if (recipient.publicKey.asymmetricKeyType !== 'rsa') {
      throw new ControlFault(400, 'the key of the certificate is not RSA');
    }
    return sealToken(this.issueToken(options), recipient, options.algorithm);
  }

  /** All that were issued for the server are over. */
  revokeTokens(name?: string): void {
    this.server(name).tokenIssuedAt = Date.now() + 1;
    this.organization.changed();
  }

  /** Returns their serial numbers. */
  addDevices(name: string | undefined, { family = 'iPhone', ...given }: NewDevices): string[] {
    const server = this.server(name);
    const { count = 0, serialNumbers = [] } = given;
    const strangers = serialNumbers.filter((serial) => server.find(serial) === undefined);
    this.organization.requireCapacity(server, strangers.length + count);
    this.organization.addDevices(server, family, serialNumbers);
    return [...serialNumbers, ...this.organization.makeDevices(server, family, count)];
  }

  /** Returns how many of them the server had. */
  removeDevices(name: string | undefined, serials: readonly string[]): number {
    const server = this.server(name);
    const removed = serials.filter((serial) => server.remove(serial) === 'SUCCESS');
    this.organization.changed();
    return removed.length;
  }

  /** As if none had ever been defined. */
  forgetProfiles(name?: string): void {
    this.server(name).forgetProfiles();
    this.organization.changed();
  }

  /** Those that Apple knows, as it lists them; with the name of their server. */
  lookUp(serials: readonly string[]): Record<string, string>[] {
    return serials.flatMap((serial) => {
      const found = this.organization.find(serial);
      return found ? [{ ...listedDevice(found.device), server: found.server.name }] : [];
    });
  }

  /** The device is being set up. Throws ControlFault 404 where Apple has no profile for it. */
  activate(serial: string): DeviceActivation {
    const found = this.organization.find(serial);
    if (found === undefined) {
      throw new ControlFault(404, `Apple does not know ${serial}`, { known: false });
    }
    const { server, device } = found;
    const profile = device.profile === undefined ? undefined : server.profiles.get(device.profile);
    if (profile === undefined) {
      const why = `Apple has no profile for ${serial} yet: assign one`;
      throw new ControlFault(404, why, { known: true });
    }
    server.push(serial);
    this.organization.changed();
    return { device: listedDevice(device), profile };
  }

  signTerms(areSigned: boolean): void {
    this.organization.areTermsSigned = areSigned;
    this.organization.changed();
  }

  /** Of all servers: whoever shows one is to begin anew. */
  expireCursors(): void {
    for (const server of this.organization.servers) server.cursorEpoch += 1;
    this.organization.changed();
  }
}

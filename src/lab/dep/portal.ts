import { decodePemBlock, isPem } from '../../crypto/asn1/pem.js';
import type { ContentAlgorithm } from '../../crypto/cms/cms-enveloped-data.js';
import { parseCertificate } from '../../crypto/x509/certificate.js';
import { ControlFault } from '../wire/control-http.js';
import { type DeviceFamily, listedDevice } from './dep-device.js';
import type { MdmServer } from './mdm-server.js';
import type { Organization } from './organization.js';
import { type ServerToken, type ServerTokens, sealToken } from './server-tokens.js';

export interface TokenOptions {
  /** Name of the server; a default one if absent. */
  server?: string | undefined;
  /** Seconds until the token expires, by default a year; a negative number makes an expired token. */
  expiresIn?: number | undefined;
  algorithm?: ContentAlgorithm | undefined;
}

export interface NewDevices {
  /** Default: iPhone. */
  family?: DeviceFamily | undefined;
  count?: number | undefined;
  serialNumbers?: readonly string[] | undefined;
}

/** What Apple sends a device that is being set up. */
export interface DeviceActivation {
  device: Record<string, string>;
  profile: Readonly<Record<string, unknown>>;
}

export const USUAL_SERVER = 'Muster';

const MAX_NAME = 100;

const YEAR_S = 365 * 86_400;

/** What an admin does at Apple's website, and the activation of devices. */
export class Portal {
  constructor(
    private readonly organization: Organization,
    private readonly tokens: ServerTokens,
  ) {}

  server(name = USUAL_SERVER): MdmServer {
    const length = Buffer.byteLength(name);
    if (length === 0 || length > MAX_NAME) {
      throw new ControlFault(400, `server must have 1 to ${MAX_NAME} bytes`);
    }
    return this.organization.server(name);
  }

  /** Issues a new token, which ends the former token of the server. */
  issueToken({ server: name, expiresIn = YEAR_S }: TokenOptions = {}): ServerToken {
    const server = this.server(name);
    const issuedAt = Math.max(Date.now(), server.tokenIssuedAt + 1);
    server.tokenIssuedAt = issuedAt;
    this.organization.changed();
    return this.tokens.issue(server.name, { issuedAt, expiresAt: Date.now() + expiresIn * 1000 });
  }

  /** The token file, encrypted to the certificate (PEM or DER). */
  issueTokenFile(certificate: Buffer, options: TokenOptions = {}): Buffer {
    const recipient = readCertificate(certificate);
    if (recipient.publicKey.asymmetricKeyType !== 'rsa') {
      throw new ControlFault(400, 'the key of the certificate is not RSA');
    }
    return sealToken(this.issueToken(options), recipient, options.algorithm);
  }

  /** Invalidates all tokens of the server. */
  revokeTokens(name?: string): void {
    this.server(name).tokenIssuedAt = Date.now() + 1;
    this.organization.changed();
  }

  /** Returns their serial numbers. */
  addDevices(
    name: string | undefined,
    { family = 'iPhone', count = 0, serialNumbers = [] }: NewDevices,
  ): string[] {
    const server = this.server(name);
    const newSerials = serialNumbers.filter((serial) => server.find(serial) === undefined);
    this.organization.requireCapacity(server, newSerials.length + count);
    this.organization.addDevices(server, family, serialNumbers);
    return [...serialNumbers, ...this.organization.makeDevices(server, family, count)];
  }

  /** Returns the number of removed devices. */
  removeDevices(name: string | undefined, serials: readonly string[]): number {
    const server = this.server(name);
    const removed = serials.filter((serial) => server.remove(serial) === 'SUCCESS');
    this.organization.changed();
    return removed.length;
  }

  /** Deletes all profiles of the server. */
  forgetProfiles(name?: string): void {
    this.server(name).forgetProfiles();
    this.organization.changed();
  }

  /** The known devices as Apple lists them, with the name of their server. */
  lookUp(serials: readonly string[]): Record<string, string>[] {
    return serials.flatMap((serial) => {
      const found = this.organization.find(serial);
      return found ? [{ ...listedDevice(found.device), server: found.server.name }] : [];
    });
  }

  /** Activates a device. Throws ControlFault 404 if it has no profile. */
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

  /** Expires the cursors of all servers. */
  expireCursors(): void {
    for (const server of this.organization.servers) server.cursorEpoch += 1;
    this.organization.changed();
  }
}

function readCertificate(bytes: Buffer) {
  try {
    return parseCertificate(isPem(bytes) ? decodePemBlock(bytes.toString(), 'CERTIFICATE') : bytes);
  } catch (cause) {
    throw new ControlFault(400, `the body is not a certificate: ${(cause as Error).message}`);
  }
}

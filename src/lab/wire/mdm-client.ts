import type { KeyObject } from 'node:crypto';
import { buildSignedData } from '../../crypto/cms/cms-signed-data.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { isPlistDict, type PlistDict, parsePlist } from '../../protocol/plist/plist.js';
import type { HttpClient } from './http-client.js';
import type { HttpReply } from './http-reply.js';
import { RefusedError, UnenrolledError } from './lab-error.js';

export interface MdmIdentity {
  /** DER. */
  certificate: Buffer;
  privateKey: KeyObject;
}

export interface MdmEndpoint {
  serverUrl: string;
  checkInUrl: string;
  /** As the profile asks. */
  isSigned: boolean;
}

const CHECK_IN_TYPE = 'application/x-apple-aspen-mdm-checkin';
const UNRECOGNIZED = 'com.apple.unrecognized.device';

function readCode({ headers, body }: HttpReply): unknown {
  try {
    const isJson = String(headers['content-type'] ?? '').includes('json');
    const value: unknown = isJson ? JSON.parse(body.toString()) : parsePlist(body);
    return isPlistDict(value) ? value.code : undefined;
  } catch {
    return undefined; // a plain 403 has no body, or one of another kind
  }
}

function readDict({ body }: HttpReply): PlistDict | undefined {
  if (body.length === 0) return undefined;
  const value = parsePlist(body);
  return isPlistDict(value) ? value : undefined;
}

/** Older servers unenroll a device by 401, current ones by Apple's 403 body. */
function endsEnrollment(reply: HttpReply): boolean {
  return reply.status === 401 || (reply.status === 403 && readCode(reply) === UNRECOGNIZED);
}

/** The device's side of the MDM protocol: sends messages, signed at the time of its clock, and receives commands. */
export class MdmClient {
  private readonly certificate: ParsedCertificate;

  constructor(
    private readonly http: HttpClient,
    private readonly endpoint: MdmEndpoint,
    private readonly identity: MdmIdentity,
    private readonly clock: () => Date,
  ) {
    this.certificate = parseCertificate(identity.certificate);
  }

  /** What the server answers, or undefined when that is nothing. */
  async checkIn(message: Buffer): Promise<PlistDict | undefined> {
    return readDict(await this.put(this.endpoint.checkInUrl, message, CHECK_IN_TYPE));
  }

  /** The next command, or undefined when there is none. */
  async report(message: Buffer): Promise<PlistDict | undefined> {
    const reply = await this.put(this.endpoint.serverUrl, message, 'application/x-apple-aspen-mdm');
    return readDict(reply);
  }

  private async put(url: string, body: Buffer, contentType: string): Promise<HttpReply> {
    const headers = { 'Content-Type': contentType, ...this.signature(body) };
    const reply = await this.http.send({ method: 'PUT', url, headers, body });
    if (endsEnrollment(reply)) throw new UnenrolledError('the server unenrolled the device');
    if (reply.status !== 200) {
      throw new RefusedError(reply.status, `the server answered ${reply.status}`);
    }
    return reply;
  }

  private signature(content: Buffer): Record<string, string> {
    if (!this.endpoint.isSigned) return {};
    const signed = buildSignedData({
      content,
      detached: true,
      signer: { certificate: this.certificate, privateKey: this.identity.privateKey },
      signingTime: this.clock(),
    });
    return { 'Mdm-Signature': signed.toString('base64') };
  }
}

import { randomUUID } from 'node:crypto';
import { type Agent, request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { exportPrivateKey, type KeyPair } from '../../src/crypto/keys/keys.js';
import type { ParsedCertificate } from '../../src/crypto/x509/certificate.js';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { type Fields, type Reply, type SendOptions, TestDevice } from '../helpers/device.js';

export interface CertifiedKeys extends KeyPair {
  certificate: ParsedCertificate;
  /** Sent along with the certificate. */
  chain?: ParsedCertificate[];
}

export interface ServerAccess {
  /** Of a server that speaks TLS. */
  url: string;
  agent?: Agent;
  headers?: Record<string, string | string[]>;
}

export function certificatePem(...certificates: ParsedCertificate[]): string {
  return certificates.map(({ der }) => encodePem('CERTIFICATE', der)).join('');
}

export function keyPem({ privateKey }: KeyPair): string {
  return encodePem('PRIVATE KEY', exportPrivateKey(privateKey));
}

/** A device that shows its certificate in the TLS handshake; it signs only if asked to. */
export class CertifiedDevice extends TestDevice {
  constructor(
    private readonly server: ServerAccess,
    private readonly shown: CertifiedKeys | undefined,
    signing: CertifiedKeys,
    ids: Fields = { UDID: randomUUID().toUpperCase() },
  ) {
    super(server.url, signing, signing.certificate, ids);
  }

  override async send(message: Fields | Buffer, options: SendOptions = {}): Promise<Reply> {
    const body = Buffer.isBuffer(message) ? message : buildPlist(message);
    const { contentType, path = '/mdm', signature = null } = options;
    const { url, agent = false, headers = {} } = this.server;
    const outgoing = request(`${url}${path}`, {
      method: 'PUT',
      agent,
      rejectUnauthorized: false,
      cert: this.shown && certificatePem(this.shown.certificate, ...(this.shown.chain ?? [])),
      key: this.shown && keyPem(this.shown),
      headers: { ...headers, 'Content-Length': body.length },
    });
    if (contentType !== undefined) outgoing.setHeader('Content-Type', contentType);
    if (signature !== null) outgoing.setHeader('Mdm-Signature', signature);
    return new Promise((resolve, reject) => {
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        const { statusCode: status = 0, headersDistinct } = response;
        const headers = new Headers(
          Object.entries(headersDistinct).map(([name, values]) => [name, values?.join() ?? '']),
        );
        buffer(response).then((content) => resolve({ status, headers, body: content }), reject);
      });
      outgoing.end(body);
    });
  }
}

import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { exportPrivateKey, generateEcKeyPair, type KeyPair } from '../../src/crypto/keys/keys.js';
import type { ParsedCertificate } from '../../src/crypto/x509/certificate.js';
import { asAuthority, type Identity, identityOf } from '../crypto/identities.js';
import type { TestApi } from '../jsonapi/test-api.js';

export type Json = Record<string, unknown>;

export interface CertificateResource {
  id: number;
  attributes: Json;
  relationships: Record<string, { data: { id: number } | null }>;
}

export const PUSH_TOPIC = 'com.apple.mgmt.External.1b2c3d4e';

export const certificatePem = ({ der }: Pick<ParsedCertificate, 'der'>) =>
  encodePem('CERTIFICATE', der);

export const keyPem = ({ privateKey }: Pick<KeyPair, 'privateKey'>) =>
  encodePem('PRIVATE KEY', exportPrivateKey(privateKey));

/** A certificate of its own with a P-256 key. */
export async function makeIdentity(
  overrides: Parameters<typeof identityOf>[1] = {},
): Promise<Identity> {
  const subject = [{ type: 'CN', value: `test ${randomUUID()}` }];
  return identityOf(await generateEcKeyPair(), { subject, ...overrides });
}

export function makeAuthority(overrides: Parameters<typeof identityOf>[1] = {}): Promise<Identity> {
  const subject = [{ type: 'CN', value: `CA ${randomUUID()}` }];
  return makeIdentity({ ...asAuthority, subject, ...overrides });
}

export function makePushIdentity(topic = PUSH_TOPIC): Promise<Identity> {
  const subject = [
    { type: 'UID', value: topic },
    { type: 'CN', value: `APSP:${randomUUID()}` },
  ];
  return makeIdentity({ subject });
}

/** Requests for the certificate family; `role` as in the test API. */
export function credentialClient(api: TestApi) {
  const post = (path: string, attributes: Json, extra: Json = {}) => {
    const type = path
      .split('/')
      .at(-1)
      ?.replace(/^(ca|push|ssl)_|\?.*$/g, '');
    return request(api.app)
      .post(`/api/v1${path}`)
      .send({ data: { type, attributes, ...extra } });
  };
  return {
    post,
    /** The resource made by a POST that must succeed. */
    create: async (path: string, attributes: Json, extra?: Json): Promise<CertificateResource> => {
      const response = await post(path, attributes, extra);
      if (response.status !== 201) throw new Error(JSON.stringify(response.body));
      return [response.body.data].flat()[0];
    },
    patch: (path: string, content: Json) => {
      const type = path.split('/').at(-2);
      return request(api.app)
        .patch(`/api/v1${path}`)
        .send({ data: { type, ...content } });
    },
    get: (path: string) => request(api.app).get(`/api/v1${path}`),
    delete: (path: string) => request(api.app).delete(`/api/v1${path}`),
  };
}

/** Status, then code and pointer of each error. */
export function faults({ status, body }: request.Response): unknown[] {
  const errors = body.errors as { code: string; source?: { pointer: string } }[];
  return [status, ...errors.map(({ code, source }) => [code, source?.pointer])];
}

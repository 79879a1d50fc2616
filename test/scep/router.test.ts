import request from 'supertest';
import { type Identity, rsaIdentity } from '../crypto/identities.js';
import { buildPkcsReq, readCertRep } from '../helpers/scep-client.js';
import { asBuffer, csrOf, PKI_OPERATION, type ScepServer, startScepServer } from './scep-server.js';

describe('the SCEP surface', () => {
  let server: ScepServer;
  let signer: Identity;

  beforeAll(async () => {
    [server, signer] = await Promise.all([startScepServer(), rsaIdentity()]);
  });
  afterAll(() => server.drop());

  const parties = () => ({
    signerCertificate: signer.certificate,
    signerKey: signer.privateKey,
    caCertificate: server.authority.certificate,
    transactionId: 'transaction-1',
    senderNonce: Buffer.alloc(16, 1),
  });
  const validMessage = () => {
    const challengePassword = server.challenges.issueChallenge();
    return buildPkcsReq({ ...parties(), csr: csrOf(signer, { challengePassword }) });
  };

  it.each([
    ['no operation', '/scep'],
    ['an unknown operation', '/scep?operation=GetNextCACert'],
    ['an operation given twice', '/scep?operation=GetCACert&operation=GetCACert'],
    ['no message', PKI_OPERATION],
    ['an empty message', `${PKI_OPERATION}&message=`],
    ['a message that is not base64', `${PKI_OPERATION}&message=%21%21%21%21`],
    ['a message that is not DER', `${PKI_OPERATION}&message=AAAA`],
    ['a message given twice', `${PKI_OPERATION}&message=AAAA&message=AAAA`],
  ])('answers 400 to %s', async (_what, path) => {
    const response = await request(server.app).get(path);
    expect(response.status).toBe(400);
    expect(response.headers['content-type']).toBe('text/plain');
    expect(response.text).toBe('');
  });

  it('answers 400 to a body that is no message, and to none', async () => {
    for (const body of ['', 'garbage', '0\x82', 'a=b&c=d']) {
      const response = await request(server.app).post(PKI_OPERATION).send(body);
      expect(response.status).toBe(400);
    }
  });

  it('answers 413 to more than 64 KB', async () => {
    const body = Buffer.alloc(64 * 1024 + 1, 0x30);
    const response = await request(server.app)
      .post(PKI_OPERATION)
      .set('Content-Type', 'application/x-pki-message')
      .send(body);
    expect(response.status).toBe(413);
  });

  it.each(['put', 'patch', 'delete', 'options'] as const)('answers 405 to %s', async (method) => {
    const response = await request(server.app)[method]('/scep?operation=GetCACert');
    expect(response.status).toBe(405);
    expect(response.headers.allow).toBe('GET, POST');
  });

  it('answers 405 to HEAD of a PKIOperation, which would issue a certificate', async () => {
    const message = encodeURIComponent(validMessage().toString('base64'));
    const response = await request(server.app).head(`${PKI_OPERATION}&message=${message}`);
    expect(response.status).toBe(405);
    expect(await server.db.knex('scep_challenges')).toEqual([]);
  });

  it('answers GetCACaps as plain text without a charset', async () => {
    const response = await request(server.app).get('/scep?operation=GetCACaps&message=Muster');
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('text/plain');
    expect(response.text).toBe(
      'Renewal\nSHA-1\nSHA-256\nAES\nDES3\nSCEPStandard\nPOSTPKIOperation',
    );
  });

  it('answers GetCACert with the CA certificate', async () => {
    const response = await request(server.app)
      .get('/scep?operation=GetCACert')
      .buffer(true)
      .parse(asBuffer);
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('application/x-x509-ca-cert');
    expect(response.body).toEqual(server.authority.certificate.der);
  });

  it.each([
    ['escaped', (text: string) => encodeURIComponent(text)],
    ['with bare plus signs', (text: string) => text.replaceAll('=', '%3D')],
    ['in lines', (text: string) => encodeURIComponent(text.replace(/.{76}/g, '$&\r\n'))],
  ])('accepts a message by GET, %s', async (_how, encode) => {
    const message = encode(validMessage().toString('base64'));
    const response = await request(server.app)
      .get(`${PKI_OPERATION}&message=${message}`)
      .buffer(true)
      .parse(asBuffer);
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('application/x-pki-message');
    expect(readCertRep(response.body as Buffer, parties()).status).toBe('success');
  });

  it('accepts a message by POST, whatever its content type', async () => {
    for (const type of ['application/x-pki-message', 'application/octet-stream', 'text/plain']) {
      const response = await request(server.app)
        .post(PKI_OPERATION)
        .set('Content-Type', type)
        .send(validMessage())
        .buffer(true)
        .parse(asBuffer);
      expect(response.status).toBe(200);
      expect(response.headers['content-type']).toBe('application/x-pki-message');
      expect(readCertRep(response.body as Buffer, parties()).status).toBe('success');
    }
  });
});

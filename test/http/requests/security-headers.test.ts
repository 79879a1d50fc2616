import express, { type RequestHandler } from 'express';
import request from 'supertest';
import {
  apiSecurityHeaders,
  pageSecurityHeaders,
} from '../../../src/http/requests/security-headers.js';

const end: RequestHandler = (_req, res) => {
  res.end();
};

describe('security headers', () => {
  it('forbid to render, frame, sniff or store answers of the API', async () => {
    const app = express().use(apiSecurityHeaders({ https: false }), end);
    const { headers } = await request(app).get('/');
    expect(headers['content-security-policy']).toBe("default-src 'none';frame-ancestors 'none'");
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['strict-transport-security']).toBeUndefined();
  });

  it('hold browsers to https when the server is reached by it', async () => {
    const app = express().use(pageSecurityHeaders({ https: true }), end);
    const { headers } = await request(app).get('/');
    expect(headers['strict-transport-security']).toBe('max-age=15552000');
    expect(headers['content-security-policy']).toContain("default-src 'self'");
  });
});

import request from 'supertest';
import { buildPlistNodes, type PlistNodeDict } from '../../src/protocol/plist/plist.js';
import { ADMIN_TOKEN, type TestApp } from '../helpers/app.js';

export interface UploadOptions {
  token?: string;
  query?: string;
  headers?: Record<string, string>;
}

/** Uploads a file as a form in a browser does. */
export function uploadFile({ app }: TestApp, file: Buffer, options: UploadOptions = {}) {
  const { token = ADMIN_TOKEN, query = '', headers = {} } = options;
  return request(app)
    .post(`/api/v1/upload/profiles${query}`)
    .set('Authorization', `Bearer ${token}`)
    .set(headers)
    .attach('file', file, 'profile.mobileconfig');
}

export function uploadNodes(app: TestApp, nodes: PlistNodeDict, options: UploadOptions = {}) {
  return uploadFile(app, buildPlistNodes(nodes), options);
}

export interface DownloadedFile {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

export async function downloadFile(
  { app }: TestApp,
  path: string,
  token = ADMIN_TOKEN,
): Promise<DownloadedFile> {
  return request(app)
    .get(`/api/v1/download/profiles/${path}`)
    .set('Authorization', `Bearer ${token}`)
    .buffer(true)
    .parse((stream, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => done(null, Buffer.concat(chunks)));
    });
}

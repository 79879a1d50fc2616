import type { ApiRoute } from '../api-route.js';
import { downloadOperation, type ProfileDownloadDeps } from './profile-download.js';
import { type ProfileUploadDeps, uploadOperation } from './profile-upload.js';

export type ProfileFileDeps = ProfileUploadDeps & ProfileDownloadDeps;

/** Upload and download of configuration profiles as files. */
export function profileFileRoutes(deps: ProfileFileDeps): ApiRoute[] {
  return [
    { path: '/upload/profiles', methods: { POST: uploadOperation(deps) } },
    { path: '/download/profiles/{id}', methods: { GET: downloadOperation(deps) } },
  ];
}

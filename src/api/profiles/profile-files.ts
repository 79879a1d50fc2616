import type { ApiRoute } from '../api-route.js';
import { diffOperation, type ProfileDiffDeps } from './profile-diff.js';
import { downloadOperation, type ProfileDownloadDeps } from './profile-download.js';
import { type ProfileUploadDeps, uploadOperation } from './profile-upload.js';

export type ProfileFileDeps = ProfileUploadDeps & ProfileDownloadDeps & ProfileDiffDeps;

/** Upload and download of configuration profiles as files, and what differs between them. */
export function profileFileRoutes(deps: ProfileFileDeps): ApiRoute[] {
  return [
    { path: '/upload/profiles', methods: { POST: uploadOperation(deps) } },
    { path: '/download/profiles/{id}', methods: { GET: downloadOperation(deps) } },
    {
      path: '/profiles/{id}/versions/{from}/diff/{to}',
      methods: { GET: diffOperation(deps) },
    },
  ];
}

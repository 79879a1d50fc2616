import type { ServerResponse } from 'node:http';

/** Apple's mdm/errors/softwareupdate.required.yaml: the device updates and then asks again. */
export function sendUpdateRequired(res: ServerResponse, version: string): void {
  const body = JSON.stringify({
    code: 'com.apple.softwareupdate.required',
    description: `version ${version} or later is required`,
    message: `This device must be updated to version ${version} before it can be enrolled.`,
    details: { OSVersion: version },
  });
  res.writeHead(403, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  });
  res.end(body);
}

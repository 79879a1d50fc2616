import type { ApiClient } from './api-client.js';

/** A profile without payloads; `displayName` may have variables. */
function profileFile(n: number, displayName: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>
<key>PayloadType</key><string>Configuration</string><key>PayloadVersion</key><integer>1</integer>
<key>PayloadIdentifier</key><string>org.example.bench.${n}</string>
<key>PayloadDisplayName</key><string>${displayName}</string>
<key>PayloadUUID</key><string>${String(n).padStart(8, '0')}-0000-4000-8000-000000000000</string>
<key>PayloadContent</key><array/></dict></plist>`;
}

/** Uploads the n-th profile. Returns its id. */
export async function uploadProfile(
  api: ApiClient,
  n: number,
  displayName = `Profile ${n}`,
): Promise<number> {
  const boundary = 'bench';
  const head = `Content-Disposition: form-data; name="file"; filename="bench.mobileconfig"`;
  const file = profileFile(n, displayName);
  const body = `--${boundary}\r\n${head}\r\n\r\n${file}\r\n--${boundary}--\r\n`;
  const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };
  const reply = await api.call({ method: 'POST', path: '/upload/profiles', headers, raw: body });
  if (reply.status !== 201) throw new Error(`upload: ${reply.status} ${reply.body}`);
  return JSON.parse(reply.body.toString()).data.id;
}

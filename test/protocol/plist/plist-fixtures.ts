import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..', 'fixtures');

export function fixture(path: string): Buffer {
  return readFileSync(join(ROOT, path));
}

/** Paths, below the fixtures, of every property list in the folders. */
export function plistFixtures(folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => /\.(plist|mobileconfig)$/.test(name))
      .map((name) => `${folder}/${name}`),
  );
}

/** An XML property list with the given markup inside its plist element. */
export function document(markup: string): Buffer {
  return Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0">${markup}</plist>`,
  );
}

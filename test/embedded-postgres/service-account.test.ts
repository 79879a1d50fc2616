import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { obstacle, parsePasswd } from '../../src/embedded-postgres/service-account.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

const OUTSIDER = { name: 'outsider', uid: 4_000_001, gid: 4_000_001 };

afterAll(removeTemporaryDirectories);

describe('the accounts of the system', () => {
  it('are read from passwd lines, and other lines are skipped', () => {
    const text = '# comment\npostgres:x:101:104:admin:/var:/bin/sh\nbroken:x:a:b\n\n';
    expect(parsePasswd(text)).toEqual([{ name: 'postgres', uid: 101, gid: 104 }]);
  });

  it('may have a negative id, as nobody has on macOS', () => {
    expect(parsePasswd('nobody:*:-2:-2:Unprivileged:/:/usr/bin/false')).toEqual([
      { name: 'nobody', uid: 4_294_967_294, gid: 4_294_967_294 },
    ]);
  });
});

describe('a path that another account has to reach', () => {
  it('is blocked by the first directory closed to it', () => {
    const top = temporaryDirectory();
    const closed = join(top, 'closed');
    mkdirSync(join(closed, 'open'), { recursive: true });
    chmodSync(closed, 0o700);
    expect(obstacle(join(closed, 'open', 'missing'), OUTSIDER)).toBe(closed);
  });

  it('is blocked by the permissions of its owner and group too', () => {
    const top = temporaryDirectory();
    const { uid, gid } = statSync(top);
    chmodSync(top, 0o077);
    expect(obstacle(top, { name: 'owner', uid, gid: 4_000_001 })).toBe(top);
    chmodSync(top, 0o707);
    expect(obstacle(top, { name: 'member', uid: 4_000_001, gid })).toBe(top);
    chmodSync(top, 0o711);
  });

  it('is free when all may traverse every directory', () => {
    expect(obstacle(join(temporaryDirectory(), 'missing'), OUTSIDER)).toBeUndefined();
  });

  it('is free for the account of this process itself', () => {
    const top = temporaryDirectory();
    chmodSync(top, 0o700);
    expect(obstacle(top, null)).toBeUndefined();
  });
});

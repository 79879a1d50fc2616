import { describeLab, type LabDevice } from '../../../src/cli/lab/lab-guide.js';

const CONTROL = 'http://127.0.0.1:50001';
const PORTAL = 'http://127.0.0.1:50002';
const MAC: LabDevice = {
  id: 7,
  platform: 'macOS',
  serialNumber: 'C02AAAAAAAAA',
  name: 'Ben’s Mac',
};
const PHONE: LabDevice = { id: 12, platform: 'iOS', serialNumber: 'F4KBBBBBBB', name: 'Zoë’s' };

function guide(
  devices: LabDevice[],
  config: Partial<Parameters<typeof describeLab>[0]['config']> = {},
): string {
  return describeLab({
    devices,
    controlUrl: CONTROL,
    portalUrl: PORTAL,
    config: {
      publicUrl: 'http://localhost:8080',
      adminToken: undefined,
      dataDir: '/var/lib/muster',
      tls: undefined,
      ...config,
    },
  });
}

describe('what muster lab prints', () => {
  it('does not offer to clear the passcode of a Mac', () => {
    expect(guide([MAC])).not.toContain('clear_passcode');
    expect(guide([MAC, PHONE])).toContain('-X POST "$API/devices/12/clear_passcode"');
  });

  it('prints where the token is, not the token', () => {
    expect(guide([MAC])).toContain(
      'AUTH="Authorization: Bearer $(cat /var/lib/muster/admin-token)"\nAPI=http://localhost:8080/api/v1\n',
    );
    const text = guide([MAC], { adminToken: 'the-value-of-a-secret' });
    expect(text).not.toContain('the-value-of-a-secret');
    expect(text).toContain('AUTH="Authorization: Bearer $ADMIN_TOKEN"\n');
  });

  it("shows how to obtain a token of Apple's program", () => {
    expect(guide([MAC])).toContain(
      [
        'curl -sg -H "$AUTH" -X POST http://localhost:8080/dep/certificate/download -o "$FILES/muster-dep.pem"',
        'curl -sg --data-binary "@$FILES/muster-dep.pem" http://127.0.0.1:50002/token -o "$FILES/smime.p7m"',
        'curl -sg -H "$AUTH" -F "file=@$FILES/smime.p7m" http://localhost:8080/dep/stoken/upload',
      ].join('\n'),
    );
  });

  it('quotes paths for the shell', () => {
    expect(guide([MAC], { dataDir: "/tmp/it's here" })).toContain(
      `$(cat '/tmp/it'\\''s here/admin-token')`,
    );
  });

  it('passes curl the certificate of a server with TLS', () => {
    const text = guide([MAC], { tls: { certFile: '/etc/tls.pem', keyFile: '/etc/key.pem' } });
    const calls = text.split('\n').filter((line) => line.startsWith('curl'));
    expect(calls.length).toBeGreaterThan(8);
    expect(calls.every((line) => line.startsWith('curl -sg --cacert /etc/tls.pem '))).toBe(true);
  });

  it('lists the devices in columns, and of many only the first', () => {
    expect(guide([MAC, PHONE]).split('\n').slice(2, 5)).toEqual([
      '  ID  PLATFORM  SERIAL NUMBER  NAME',
      '  7   macOS     C02AAAAAAAAA   Ben’s Mac',
      '  12  iOS       F4KBBBBBBB     Zoë’s',
    ]);
    const many = Array.from({ length: 12 }, (_, index) => ({ ...MAC, id: index + 1 }));
    expect(guide(many).split('\n').slice(12, 14)).toEqual([
      '  10  macOS     C02AAAAAAAAA   Ben’s Mac',
      '  and 2 more',
    ]);
  });
});

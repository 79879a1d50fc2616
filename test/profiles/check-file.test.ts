import { holdsSecrets } from '../../src/profiles/check-file.js';
import { dict, type Members, payload, profile } from './sample-profiles.js';

function holds(type: string, members: Members): boolean {
  return holdsSecrets(profile([payload('com.apple.dock'), payload(type, members)]));
}

describe('a profile', () => {
  it.each<[string, string, Members]>([
    ['a Wi-Fi password', 'com.apple.wifi.managed', { Password: 'x' }],
    [
      'a pre-shared key',
      'com.apple.vpn.managed',
      { IPSec: dict({ SharedSecret: Buffer.from('x') }) },
    ],
    ['a challenge', 'com.apple.security.scep', { PayloadContent: dict({ Challenge: 'x' }) }],
    ['an identity', 'com.apple.security.pkcs12', { PayloadContent: Buffer.from('x') }],
    ['a key of another maker', 'com.example.app', { Settings: [dict({ api_key: 'x' })] }],
    ['texts below a secret name', 'com.example.app', { Credentials: dict({ user: 'ada' }) }],
    ['a license token', 'com.example.app', { LicenseToken: 'x' }],
    ['a password to remove it by', 'com.apple.profileRemovalPassword', { RemovalPassword: 'x' }],
  ])('holds secrets with %s', (_what, type, members) => {
    expect(holds(type, members)).toBe(true);
  });

  it.each<[string, string, Members]>([
    ['flags about passwords', 'com.apple.applicationaccess', { allowPasswordSharing: false }],
    ['numbers about them', 'com.apple.mobiledevice.passwordpolicy', { maxPINAgeInDays: 90n }],
    ['an empty password', 'com.apple.wifi.managed', { Password: '' }],
    ['a certificate', 'com.apple.security.root', { PayloadContent: Buffer.from('x') }],
    ['a name with pin in it', 'com.example.app', { Opinion: 'x', mapping: 'y' }],
  ])('holds no secrets with %s', (_what, type, members) => {
    expect(holds(type, members)).toBe(false);
  });
});

import { createIdentity } from '../../../src/lab/devices/device-identity.js';
import type { LabPlatform } from '../../../src/lab/devices/device-models.js';
import { Random } from '../../../src/lab/devices/random.js';

function many(platform: LabPlatform) {
  return Array.from({ length: 300 }, (_, index) =>
    createIdentity(platform, new Random(`${platform} ${index}`)),
  );
}

describe('the identity of a simulated device', () => {
  it('has a UDID and a serial number of its own', () => {
    const all = [...many('iOS'), ...many('macOS')];
    expect(new Set(all.map(({ udid }) => udid)).size).toBe(600);
    expect(new Set(all.map(({ serialNumber }) => serialNumber)).size).toBe(600);
  });

  it('writes the UDID of a Mac as a UUID in upper case', () => {
    const odd = many('macOS').filter(
      ({ udid }) => !/^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/.test(udid),
    );
    expect(odd).toEqual([]);
  });

  it('writes the UDID of an iPhone as chip and number, or as 40 hex digits on old models', () => {
    const udids = many('iOS').map(({ udid }) => udid);
    const isNew = (udid: string) => /^0000(80|81)[0-9]{2}-00[0-9A-F]{14}$/.test(udid);
    const isOld = (udid: string) => /^[0-9a-f]{40}$/.test(udid);
    expect(udids.filter((udid) => !isNew(udid) && !isOld(udid))).toEqual([]);
    expect(udids.some(isNew)).toBe(true);
    expect(udids.some(isOld)).toBe(true);
  });

  it('has an OS version that its model can run', () => {
    const misfits = [...many('iOS'), ...many('macOS')].filter(({ model, release }) => {
      const major = Number.parseInt(release.version, 10);
      return major < model.majors[0] || major > model.majors[1];
    });
    expect(misfits).toEqual([]);
  });

  it('varies models, versions and supervision', () => {
    const all = [...many('iOS'), ...many('macOS')];
    expect(new Set(all.map(({ model }) => model.productName)).size).toBeGreaterThan(15);
    expect(new Set(all.map(({ release }) => release.version)).size).toBeGreaterThan(12);
    expect(new Set(all.map(({ isSupervised }) => isSupervised)).size).toBe(2);
  });

  it('ends an IMEI with its check digit', () => {
    const luhnSum = (digits: string) =>
      [...digits].reverse().reduce((sum, digit, index) => {
        const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
        return sum + (value > 9 ? value - 9 : value);
      }, 0);
    const wrong = many('iOS').filter(({ imei }) => luhnSum(imei.replaceAll(' ', '')) % 10 !== 0);
    expect(wrong).toEqual([]);
  });
});

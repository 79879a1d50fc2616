import { judgeMinimumOs } from '../../../src/enroll/automated/minimum-os.js';

const minimums = { minimum_ios_version: '17.4', minimum_macos_version: '14.5' };
const met = { kind: 'enroll', unmet: null };
const judge = (product: string | undefined, osVersion?: string, canRequestSoftwareUpdate = true) =>
  judgeMinimumOs({ product, osVersion, canRequestSoftwareUpdate }, minimums);

describe('the minimum version of the system', () => {
  it.each([
    ['iPhone14,5', '17.3.1', '17.4'],
    ['iPad4,1', '9.3.5', '17.4'],
    ['iPod9,1', '17', '17.4'],
    ['Mac14,2', '14.4.1', '14.5'],
    ['MacBookPro18,3', '13.7', '14.5'],
    ['VirtualMac2,1', '14', '14.5'],
  ])('has %s on %s update to %s', (product, osVersion, version) => {
    expect(judge(product, osVersion)).toEqual({ kind: 'update', version });
    expect(judge(product, osVersion, false)).toEqual({ kind: 'enroll', unmet: version });
  });

  it.each([
    ['iPhone14,5', '17.4'],
    ['iPhone14,5', '17.4.0'],
    ['iPhone14,5', '17.10'],
    ['iPad4,1', '18'],
    ['Mac14,2', '14.5.1'],
    ['Mac14,2', '15.0'],
    // Those have no minimum of their own.
    ['AppleTV11,1', '11.0'],
    ['RealityDevice14,1', '1.0'],
    ['Watch7,1', '9.0'],
    ['', '9.0'],
    [undefined, '9.0'],
    // No dotted number: nothing can be said of it.
    ['iPhone14,5', 'seventeen'],
    ['iPhone14,5', '17.3 beta'],
    ['iPhone14,5', '1'.repeat(400)],
  ])('is met by %s on %s', (product, osVersion) => {
    expect(judge(product, osVersion)).toEqual(met);
  });

  it('counts as unmet when a device is too old to send its version, and only then', () => {
    expect(judge('iPhone14,5', undefined)).toEqual({ kind: 'enroll', unmet: '17.4' });
    const old = { minimum_ios_version: '16.7', minimum_macos_version: null };
    const info = { product: 'iPhone9,1', canRequestSoftwareUpdate: false };
    expect(judgeMinimumOs(info, old)).toEqual(met);
  });

  it('is met when none is set', () => {
    const none = { minimum_ios_version: null, minimum_macos_version: null };
    const info = { product: 'Mac14,2', osVersion: '14.0', canRequestSoftwareUpdate: true };
    expect(judgeMinimumOs(info, none)).toEqual(met);
  });
});

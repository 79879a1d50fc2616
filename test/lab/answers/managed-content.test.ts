import { Random } from '../../../src/lab/devices/random.js';
import { createSimulatedDevice } from '../../../src/lab/devices/simulated-device.js';
import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { answerOf, createDevice, createMac, firstError } from './device-under-test.js';

describe('a simulated device keeps', () => {
  it('the configuration and the attributes of an application', () => {
    const phone = createDevice('iOS');
    const Identifier = 'com.example.app';
    const Configuration = { Server: 'https://example.com' };
    const Attributes = { Removable: false };
    const install = { RequestType: 'InstallApplication', Identifier, Configuration, Attributes };
    expect(answerOf(phone, install).State).toBe('Installing');
    const Identifiers = [Identifier, 'com.example.other'];
    const configured = answerOf(phone, {
      RequestType: 'ManagedApplicationConfiguration',
      Identifiers,
    });
    expect(configured.ApplicationConfigurations).toEqual([{ Identifier, Configuration }]);
    const attributed = answerOf(phone, {
      RequestType: 'ManagedApplicationAttributes',
      Identifiers,
    });
    expect(attributed.ApplicationAttributes).toEqual([{ Identifier, Attributes }]);
  });

  it('a book until it is removed', () => {
    const phone = createDevice('iOS');
    const book = { MediaType: 'Book', PersistentID: 'com.example.handbook', Title: 'Handbook' };
    expect(answerOf(phone, { RequestType: 'InstallMedia', ...book }).State).toBe('Installing');
    const { Books } = answerOf(phone, { RequestType: 'ManagedMediaList' });
    expect(Books).toEqual([
      { PersistentID: 'com.example.handbook', Title: 'Handbook', State: 'Managed' },
    ]);
    const removal = { RequestType: 'RemoveMedia', ...book };
    expect(answerOf(phone, removal).Status).toBe('Acknowledged');
    expect(answerOf(phone, { RequestType: 'ManagedMediaList' }).Books).toEqual([]);
    expect(firstError(answerOf(phone, removal))?.ErrorCode).toBe(12_029);
  });

  it('a provisioning profile until it is removed, and refuses one that is none', () => {
    const mac = createMac({ isSilicon: true });
    const UUID = '7A3B0E55-8E58-4B51-9F53-0E8E9F0F7A12';
    const ExpirationDate = new Date('2030-01-01T00:00:00Z');
    const install = (ProvisioningProfile: Buffer) =>
      answerOf(mac, { RequestType: 'InstallProvisioningProfile', ProvisioningProfile });
    expect(install(buildPlist({ UUID, Name: 'Apps', ExpirationDate })).Status).toBe('Acknowledged');
    expect(firstError(install(Buffer.from('no profile')))?.ErrorCode).toBe(25_000);
    const list = () => answerOf(mac, { RequestType: 'ProvisioningProfileList' });
    expect(list().ProvisioningProfileList).toEqual([
      { UUID, Name: 'Apps', ExpiryDate: ExpirationDate },
    ]);
    const removal = { RequestType: 'RemoveProvisioningProfile', UUID };
    expect(answerOf(mac, removal).Status).toBe('Acknowledged');
    expect(list().ProvisioningProfileList).toEqual([]);
    expect(firstError(answerOf(mac, removal))?.ErrorCode).toBe(12_014);
  });

  it('its bypass code for Activation Lock until the server clears it', () => {
    const mac = createMac({ isSilicon: true });
    const query = { RequestType: 'ActivationLockBypassCode' };
    const code = answerOf(mac, query).ActivationLockBypassCode;
    expect(code).toMatch(/^([0-9A-Z]{5}-){2}([0-9A-Z]{4}-){3}[0-9A-Z]{4}$/);
    expect(answerOf(mac, query).ActivationLockBypassCode).toBe(code);
    answerOf(mac, { RequestType: 'ClearActivationLockBypassCode' });
    expect(answerOf(mac, query).Status).toBe('Error');
  });
});

describe('a simulated Shared iPad', () => {
  function sharedIpad() {
    for (let attempt = 0; ; attempt += 1) {
      const random = new Random(`shared ${attempt}`);
      const options = { isShared: true, isSupervised: true };
      const device = createSimulatedDevice({ platform: 'iOS', random, ...options });
      if (device.user !== undefined) return { device, UserName: device.user.shortName };
    }
  }

  it('deletes its user only once it has logged the user out', () => {
    const { device, UserName } = sharedIpad();
    const users = () => answerOf(device, { RequestType: 'UserList' }).Users;
    const deletion = { RequestType: 'DeleteUser', UserName };
    expect(firstError(answerOf(device, deletion))?.ErrorCode).toBe(12_072);
    expect(users()).toEqual([expect.objectContaining({ UserName, IsLoggedIn: true })]);
    expect(answerOf(device, { RequestType: 'LogOutUser' }).Status).toBe('Acknowledged');
    expect(users()).toEqual([expect.objectContaining({ UserName, IsLoggedIn: false })]);
    expect(answerOf(device, deletion).Status).toBe('Acknowledged');
    expect(users()).toEqual([]);
    expect(firstError(answerOf(device, deletion))?.ErrorCode).toBe(12_071);
  });
});

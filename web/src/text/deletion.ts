/** What a page says before the record of a device is deleted. */
export const deletionText = {
  title: (name: string) => `Delete the record of ${name}`,
  lost: 'Muster forgets the device: its facts, commands, assigned items and changes, and its codes and keys, such as recovery keys, passwords and PINs. This cannot be undone.',
  enrolled:
    'The device is not erased. It leaves management when it next contacts the server: profiles and managed applications are removed from it. It comes back only by enrolling again.',
  erased: 'The device was erased. It can enroll again.',
  notEnrolled: 'The device itself is not changed. It can enroll again.',
  submit: 'Delete the record',
  open: 'Delete the record …',
};

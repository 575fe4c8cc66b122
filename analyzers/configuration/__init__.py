"""Who owns which setting: configuration classes, their fields, and where these are fed, hashed and read."""

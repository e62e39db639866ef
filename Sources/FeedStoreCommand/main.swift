print("feedstore")

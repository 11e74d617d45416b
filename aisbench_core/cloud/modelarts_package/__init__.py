"""ModelArts training jobs through the package `modelarts`, in a process of its own."""
